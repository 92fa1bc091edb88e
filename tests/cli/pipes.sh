#!/bin/bash
# Between other programs: standard input and output, and readers that leave.
. "$(dirname "$0")/lib.sh"
make_data
"$KERBIN" train -q --tune off train.libsvm > /dev/null || fail "train"
"$KERBIN" predict -q -o labels.txt train.kerbin test.libsvm > /dev/null || fail "predict"

command="generate | train -"
"$KERBIN" generate checkers --rows 2000 --seed 1 |
    "$KERBIN" train -q --tune off -o piped.kerbin - > stdout 2> stderr
status=$?
expect_status 0
expect_same piped.kerbin train.kerbin

command="xz | predict MODEL -"
xz -c test.libsvm | "$KERBIN" predict -q train.kerbin - > stdout 2> stderr
status=$?
expect_status 0
expect_same stdout labels.txt

# A reader that closes early causes no message.
leaves_early() {
    command="kerbin $* | head -n 1"
    "$KERBIN" "$@" 2> stderr | head -n 1 > stdout
    status=${PIPESTATUS[0]}
    expect_status 1
    expect_no_stderr
}
leaves_early generate checkers --rows 100000
"$KERBIN" generate checkers --rows 100000 -o many.libsvm
leaves_early predict -q --output decision train.kerbin many.libsvm
leaves_early features -q --grids 20 many.libsvm
end
