#!/bin/bash
# experiments/speed: kerbin's own runs on a small set, their table, and the file that keeps them.
. "$(dirname "$0")/lib.sh"
find_data cadata.libsvm
if light; then
    echo "skipped: scripts, which the sanitizers tell nothing of"
    exit 77
fi
if ! /usr/bin/python3 -c 'import numpy' 2> /dev/null; then
    echo "skipped: no python3 with numpy"
    exit 77
fi
export KERBIN_DATA=$DATA KERBIN
speed() {
    command="speed $*"
    status=0
    /usr/bin/python3 "$TESTS/../../experiments/speed" --only kerbin --sets cadata --seeds 1 --threads 2 \
        -o out "$@" > stdout 2> stderr || status=$?
}
speed sets passes growth --solvers cg --rows 6000
expect_status 0
expect_stdout '^\| cadata \| 4[0-9]{4} \| '
expect_stdout '^\| cadata \| cg \| 4[0-9]{4} \| [0-9]+ \| [0-9]+ \| '
expect_stdout '^\| 4000 \| '
expect_stdout '^Slopes: cpu '
cat stdout

# What is done is not done again.
cp out/speed.json before.json
mv stdout before
speed sets passes growth --solvers cg --rows 6000
expect_status 0
expect_no_stderr
cmp -s stdout before || fail "the second run prints something else"
cmp -s out/speed.json before.json || fail "the second run changed the results"
speed speedier
expect_status 2
end
