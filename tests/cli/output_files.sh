#!/bin/bash
# An output file is either whole or not there, and no input is ever changed.
. "$(dirname "$0")/lib.sh"
make_data
cp train.libsvm copy.libsvm
"$KERBIN" train -q --tune off train.libsvm > /dev/null || fail "train"

fails_with 1 '^kerbin: nowhere/m\.kerbin: cannot write: No such file' \
    train -q -o nowhere/m.kerbin train.libsvm
mkdir folder
fails_with 1 '^kerbin: folder: cannot write: Is a directory' train -q -o folder train.libsvm
for command_line in "train -q -o nowhere/x train.libsvm" \
    "predict -q -o nowhere/x train.kerbin test.libsvm" \
    "features -q -o nowhere/x train.libsvm" "generate -o nowhere/x checkers"; do
    # shellcheck disable=SC2086 # the words are meant
    fails_with 1 '^kerbin: nowhere/x: cannot write' $command_line
done

# Read-only places; root may write anywhere, so it tries a read-only file system.
if [ "$(id -u)" -ne 0 ]; then
    chmod a-w folder
    fails_with 1 '^kerbin: folder/x: cannot write' train -q -o folder/x train.libsvm
elif [ -d /proc/self ]; then
    fails_with 1 '^kerbin: /proc/x: cannot write' train -q -o /proc/x train.libsvm
fi

# A full disk: the size limit stops the write half-way.
large=(--grids 512 --sigma 0.1)
limited() {
    (ulimit -f 64 && "$KERBIN" "$@" > stdout 2> stderr)
    status=$?
    command="ulimit -f 64; kerbin $*"
}
limited train -q "${large[@]}" -o full.kerbin train.libsvm
expect_status 1
expect_stderr_line '^kerbin: full\.kerbin: cannot write: '
expect_no_file full.kerbin
limited features -q "${large[@]}" -o full.txt train.libsvm
expect_status 1
expect_stderr_line '^kerbin: full\.txt: cannot write: '
expect_no_file full.txt
# A file that existed before stays as it was.
echo precious > full.kerbin
limited train -q "${large[@]}" -o full.kerbin train.libsvm
expect_status 1
[ "$(cat full.kerbin)" = precious ] || fail "the file from before is gone"
rm full.kerbin

if [ -w /dev/full ]; then
    for command_line in "predict -q train.kerbin test.libsvm" "features -q train.libsvm" \
        "generate checkers" "inspect train.kerbin" "help train" "--version" \
        "train -q --json --tune off train.libsvm" "predict --json train.kerbin test.libsvm"; do
        command="kerbin $command_line > /dev/full"
        status=0
        # shellcheck disable=SC2086
        "$KERBIN" $command_line > /dev/full 2> stderr || status=$?
        expect_status 1
        expect_stderr_line '^kerbin: standard output: cannot write: No space left'
    done
fi

# An output that would overwrite an input is refused.
fails_with 2 '^kerbin: train\.libsvm: would be overwritten' train -q -o train.libsvm train.libsvm
fails_with 2 '^kerbin: train\.kerbin: would be overwritten' \
    predict -q -o ./train.kerbin train.kerbin test.libsvm
fails_with 2 '^kerbin: test\.libsvm: would be overwritten' \
    predict -q -o test.libsvm train.kerbin test.libsvm
expect_same train.libsvm copy.libsvm

# A model may go down a pipe; then the summary goes to standard error.
run train -o - train.libsvm
expect_status 0
expect_same stdout train.kerbin
expect_stderr '^task +classification'
[ -z "$(find . -name '*.tmp')" ] || fail "temporary files are left"
end
