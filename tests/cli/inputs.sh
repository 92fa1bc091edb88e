#!/bin/bash
# No command writes over a file that it reads, whichever option names it and by whichever name.
. "$(dirname "$0")/lib.sh"
make_data
"$KERBIN" train -q --tune off train.libsvm > /dev/null || fail "train"
{ yes 1 | head -n 2000 || true; } > weights
printf '0.5 0.5\n0.25 0.25\n' > sigmas
printf '0 1\n1 0.5\n2 0\n' > table
printf -- '-1 1\n1 2\n' > classes
mkdir results
"$KERBIN" sweep -q --values 0.5,1 -o results/s.csv train.libsvm test.libsvm > /dev/null || fail "sweep"
printf '<svg></svg>\n' > results/own.svg
cp -r . ../before.$$
trap 'rm -rf "$WORK" "$WORK/../before.$$"' EXIT

# refused INPUT ARG.. - and everything is as it was.
refused() {
    local input=$1
    shift
    fails_with 2 "^kerbin: $input: would be overwritten by the output" "$@"
    rm -f stdout stderr
    local different
    different=$(diff -r . "../before.$$") || fail "changed: $different"
}

refused weights train -q --weights weights -o weights train.libsvm
refused sigmas train -q --sigma @sigmas -o ./sigmas train.libsvm
refused table train -q --kernel table:table -o table train.libsvm
refused classes train -q --class-weight classes -o classes train.libsvm
refused test.libsvm train -q --valid test.libsvm -o test.libsvm train.libsvm
refused weights predict -q --weights weights -o weights train.kerbin train.libsvm
refused train.kerbin predict -q -o train.kerbin train.kerbin test.libsvm
refused sigmas features -q --sigma @sigmas -o sigmas train.libsvm
refused train.kerbin features -q --from train.kerbin -o train.kerbin train.libsvm
refused test.libsvm explain -q --background test.libsvm -o test.libsvm train.kerbin train.libsvm
refused weights cv -q --tune off --weights weights -o weights train.libsvm
refused results/s.json report -q -o results/s.json results
refused results/s.csv report -q -o results/s.csv results
refused results/own.svg report -q -o results/own.svg results
refused test.libsvm report -q -o test.libsvm train.kerbin test.libsvm
cp test.libsvm both.csv && cp both.csv "../before.$$"
refused both.csv sweep -q --values 1 -o both.csv train.libsvm both.csv
refused both.csv compare -q --ranks 16 -o both.csv train.libsvm both.csv
if command -v gnuplot > /dev/null; then
    cp test.libsvm both.svg && cp both.svg "../before.$$"
    refused both.svg sweep -q --values 1 --plot both.svg train.libsvm both.svg
    fails_with 2 '^kerbin: \./x\.svg: would be written twice' \
        explain -q -o x.svg --plot ./x.svg train.kerbin test.libsvm
    rm -f stdout stderr
fi

# By other names.
ln -s train.libsvm link
ln train.libsvm hard
cp -P link hard "../before.$$"
refused train.libsvm train -q -o link train.libsvm
refused link train -q -o train.libsvm link
refused train.libsvm train -q -o hard train.libsvm
INPUT=train.libsvm refused "standard input" train -q -o train.libsvm -
INPUT=weights refused "standard input" train -q --weights - -o weights train.libsvm

# Nor is standard output appended to the file that is read.
command="kerbin features train.libsvm >> train.libsvm"
status=0
"$KERBIN" features -q train.libsvm >> train.libsvm 2> stderr || status=$?
expect_status 2
expect_stderr_line '^kerbin: train\.libsvm: would be overwritten'
expect_same train.libsvm "../before.$$/train.libsvm"

# What is no file of that kind does not count.
cp train.libsvm checkers
run generate --rows 10 -o checkers checkers
expect_status 0
run report -q -o results/report.html results
expect_status 0
run report -q -o results/report.html results
expect_status 0
end
