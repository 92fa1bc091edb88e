#!/bin/bash
# Ctrl-C stops the work at once, says so, and leaves nothing behind.
. "$(dirname "$0")/lib.sh"
"$KERBIN" generate checkers --rows 100000 -o large.libsvm || fail "generate"

# A script's background jobs ignore SIGINT, so each is started with it restored.
stopped_by() {
    local signal=$1 after=$2
    shift 2
    command="kerbin $* (stopped by $signal after $after s)"
    status=0
    timeout --preserve-status -s "$signal" "$after" \
        "$KERBIN" "$@" > stdout 2> stderr || status=$?
}

long=(train -q --grids 1000 --sigma 0.05 --lambda 1e-9 --tol 1e-14 --max-iter 100000)
for after in 0.3 1 3; do
    started=$(date +%s)
    stopped_by INT "$after" "${long[@]}" -o out.kerbin large.libsvm
    expect_status 1
    expect_stderr_line '^kerbin: interrupted$'
    expect_no_stdout
    expect_no_file out.kerbin
    [ $(($(date +%s) - started)) -le 8 ] || fail "it took too long to stop"
done
stopped_by TERM 1 "${long[@]}" -o out.kerbin large.libsvm
expect_status 1
expect_stderr_line '^kerbin: interrupted$'
expect_no_file out.kerbin

# Waiting for input that does not come is work too.
mkfifo fifo
exec 3<> fifo
command="kerbin train - (waiting, stopped by INT)"
status=0
timeout --preserve-status -s INT 1 "$KERBIN" train -q -o out.kerbin - < fifo > stdout 2> stderr || status=$?
exec 3>&-
expect_status 1
expect_stderr_line '^kerbin: interrupted$'
expect_no_file out.kerbin
end
