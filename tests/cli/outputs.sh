#!/bin/bash
# Devices and pipes are written into, links stay, rights stay, and one program after the other
# leaves nothing behind.
. "$(dirname "$0")/lib.sh"
make_data
"$KERBIN" train -q --tune off train.libsvm > /dev/null || fail "train"
"$KERBIN" predict -q -o labels train.kerbin test.libsvm || fail "predict"
mkdir results
"$KERBIN" sweep -q --values 0.5,1 -o results/s.csv train.libsvm test.libsvm > /dev/null || fail "sweep"

# Every command that writes, with OUT for the name; a model has its time in it.
outputs=("train -q -o OUT train.libsvm" "predict -q -o OUT train.kerbin test.libsvm"
    "features -q -o OUT train.libsvm" "generate --rows 10 -o OUT checkers" "report -q -o OUT results"
    "explain -q -o OUT train.kerbin test.libsvm" "cv -q --tune off -o OUT train.libsvm")
short=("${outputs[@]:1:3}")
# each NAME - runs all of them, and few those of the library alone; `after` looks at what came.
each() {
    run_lines "$1" "${outputs[@]}"
}
few() {
    run_lines "$1" "${short[@]}"
}
run_lines() {
    local name=$1
    shift
    for line in "$@"; do
        # shellcheck disable=SC2086
        run ${line/OUT/$name}
        expect_status 0
        after "$name"
        ! find . -name '*.tmp' | grep -q . || fail "temporary files are left"
    done
}

# A device of our own: a program that fails here must not replace that of the machine.
if mknod device c 1 3 2> /dev/null && : > device; then
    after() { [ -c device ] || fail "the device is gone"; }
    each device
fi

# A link to a file, one to a file that is not there yet, and one after the other.
mkdir there
ln -s there/file link
ln -s ../link there/again
after() {
    [ -L link ] && [ -L there/again ] || fail "the link is replaced"
    [ -f there/file ] && [ ! -L there/file ] && [ -s there/file ] || fail "the file is not written"
    rm there/file
}
each link
few there/again
ln -s round round
fails_with 1 '^kerbin: round: cannot write: Too many levels' train -q -o round train.libsvm

# The planted links of old names are not followed.
echo precious > precious
for name in out.part out.json.part; do ln -s precious "$name"; done
after() { [ "$(cat precious)" = precious ] || fail "a link beside the output was followed"; }
few out
rm out out.*

# Rights stay, those of the owner too where we may give files away.
after() {
    [ "$(stat -c %a kept)" = 640 ] || fail "rights are $(stat -c %a kept), not 640"
    [ "$(id -u)" -ne 0 ] || [ "$(stat -c %u:%g kept)" = 12:34 ] || fail "the owner has changed"
}
touch kept
chmod 640 kept
[ "$(id -u)" -ne 0 ] || chown 12:34 kept
few kept
if [ "$(id -u)" -ne 0 ]; then
    chmod a-w kept
    fails_with 1 '^kerbin: kept: cannot write: Permission denied' train -q -o kept train.libsvm
fi

# Names as long as they may be, and longer; told before the work.
long=$(printf '%0255d' 0)
after() { [ -s "$1" ] || fail "nothing is written"; rm "$1"; }
few "$long"
fails_with 1 '^kerbin: 0+: cannot write: File name too long' train -q -o "${long}0" train.libsvm

# A pipe, and standard output under its other name: what is there stays.
mkfifo pipe
cat pipe > piped &
run predict -q -o pipe train.kerbin test.libsvm
expect_status 0
wait $!
[ -p pipe ] || fail "the pipe is replaced"
expect_same piped labels
echo before > log
command="kerbin predict -o /dev/stdout >> log"
"$KERBIN" predict -q -o /dev/stdout train.kerbin test.libsvm >> log || fail "status"
{ echo before && cat labels; } > want
expect_same log want

# What killed programs have left is removed by the next one; what another one writes is not.
mark=.kb-0123456789ab.tmp
echo left > "labels$mark"
echo other > "other$mark"
echo mine > labels.kb-mine.tmp
exec 9> "labels.kb-ffffffffffff.tmp"
flock 9
run predict -q -o labels train.kerbin test.libsvm
expect_status 0
[ ! -e "labels$mark" ] || fail "a temporary file is left"
for file in "other$mark" labels.kb-mine.tmp labels.kb-ffffffffffff.tmp; do
    [ -e "$file" ] || fail "$file is gone"
done
exec 9>&-
run predict -q -o labels train.kerbin test.libsvm
[ ! -e labels.kb-ffffffffffff.tmp ] || fail "a temporary file is left once its lock is free"

# A message is one line.
fails_with 1 '^kerbin: no\\nsuch: cannot open: No such file' train -q "$(printf 'no\nsuch')"
fails_with 1 '^kerbin: a\\x1b\[31m: cannot open: No such file' train -q "$(printf 'a\033[31m')"
fails_with 2 "^kerbin: unknown command 'a\\\\nb'" "$(printf 'a\nb')"
fails_with 2 '^kerbin: unknown option --a\\nb' train "$(printf -- '--a\nb')"
cp train.libsvm "$(printf 'two\nlines')"
run train -o "$(printf 'model\nfile')" "$(printf 'two\nlines')"
expect_status 0
expect_stdout '^model +model\\nfile, '
end
