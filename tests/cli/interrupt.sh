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
for after in 0.3 1 2; do
    started=$(date +%s)
    stopped_by INT "$after" "${long[@]}" -o out.kerbin large.libsvm
    expect_status 130
    expect_stderr_line '^kerbin: interrupted$'
    expect_no_stdout
    expect_no_file out.kerbin
    [ $(($(date +%s) - started)) -le 8 ] || fail "it took too long to stop"
done
stopped_by TERM 1 "${long[@]}" -o out.kerbin large.libsvm
expect_status 143
expect_stderr_line '^kerbin: interrupted$'
expect_no_file out.kerbin

# Waiting for input that does not come is work too.
mkfifo fifo
exec 3<> fifo
command="kerbin train - (waiting, stopped by INT)"
status=0
timeout --preserve-status -s INT 1 "$KERBIN" train -q --tune off -o out.kerbin - \
    < fifo > stdout 2> stderr || status=$?
exec 3>&-
expect_status 130
expect_stderr_line '^kerbin: interrupted$'
expect_no_file out.kerbin

# So is writing to a pipe that nobody reads: fifo is filled and then stays full.
exec 3<> fifo
started=$(date +%s)
command="kerbin generate (into a full pipe, stopped by INT)"
status=0
timeout --preserve-status -s INT 1 "$KERBIN" generate -q checkers --rows 1000000 > fifo 2> stderr || status=$?
exec 3>&-
expect_status 130
expect_stderr_line '^kerbin: interrupted$'
[ $(($(date +%s) - started)) -le 8 ] || fail "it took too long to stop"

# A closed terminal is like Ctrl-C, while the samples are made and while they are written.
for rows in 20000000 3000000; do
    stopped_by HUP 1 generate -q checkers --rows "$rows" -o out.libsvm
    expect_status 129
    expect_stderr_line '^kerbin: interrupted$'
    expect_no_file out.libsvm
done

# A loop of the shell ends with the program, which dies of the signal.
cat > loop << 'EOF'
for k in 1 2 3; do
    echo $k >> rounds
    "$KERBIN" train -q --tune off --grids 1000 --lambda 1e-9 --tol 1e-14 --max-iter 100000 -o out.kerbin \
        large.libsvm 2> /dev/null
done
EOF
command="a loop, stopped by INT"
status=0
timeout --preserve-status -s INT 1 bash loop > stdout 2> stderr || status=$?
expect_status 130
[ "$(cat rounds)" = 1 ] || fail "the loop went on"
expect_no_file out.kerbin

# Under nohup and in the background of a script the signals are ignored, and stay so.
command="kerbin generate (ignoring HUP and INT)"
status=0
(
    trap '' HUP INT
    exec "$KERBIN" generate -q checkers --rows 1000000 -o kept.libsvm
) > stdout 2> stderr &
sleep 0.2
kill -HUP $!
kill -INT $!
wait $! || status=$?
expect_status 0
expect_file kept.libsvm
end
