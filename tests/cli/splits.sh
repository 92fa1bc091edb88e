#!/bin/bash
# Validation splits and groups of rows, from the command line.
. "$(dirname "$0")/lib.sh"
make_data
common="--sigma 0.2 --grids 64 --holdout off" # rows held out would differ by --split
{
    echo a,b,what
    "$KERBIN" generate rings --rows 300 --seed 1 -o rings.csv
    tail -n +2 rings.csv | sed 's/,\([^,]*\)$/,class\1/'
} > words.csv

# A column of groups is no feature: the model is that of the file without it.
awk -F, 'NR == 1 { print "patient," $0; next } { print "p" NR % 5 "," $0 }' words.csv > grouped.csv
run train -q --json $common -o plain.kerbin words.csv
expect_status 0
features=$(json features)
run train -q --json $common --split group:patient -o grouped.kerbin grouped.csv
expect_status 0
expect_no_stderr
[ "$(json features)" = "$features" ] || fail "the group is a feature"
expect_same plain.kerbin grouped.kerbin

# A file to predict may have it or not.  Without a word of --split it is a column that the model
# does not know.
run predict -q --json -o plain.txt plain.kerbin words.csv
for file in words.csv grouped.csv; do
    run predict --json --split group:patient -o grouped.txt grouped.kerbin $file
    expect_status 0
    expect_no_stderr
    expect_same plain.txt grouped.txt
done
run predict --json -o grouped.txt grouped.kerbin grouped.csv
expect_stderr "1 column unknown to the model is ignored \(column 'patient'\)"

# Files without names.
tail -n +2 words.csv > words.raw.csv
tail -n +2 grouped.csv > grouped.raw.csv
run train -q $common -o plain.kerbin words.raw.csv
run train -q $common --split group:1 -o grouped.kerbin grouped.raw.csv
expect_status 0
expect_same plain.kerbin grouped.kerbin
run predict -q --json --split group:1 -o grouped.txt grouped.kerbin grouped.raw.csv
expect_status 0
expect_same plain.txt grouped.txt

# LIBSVM text.
awk '{ $1 = $1 " qid:" NR % 7; print }' train.libsvm > queries.libsvm
run train -q $common -o plain.kerbin train.libsvm
run train -q $common --split group:qid -o grouped.kerbin queries.libsvm
expect_status 0
expect_same plain.kerbin grouped.kerbin
fails_with 1 '^kerbin: train.libsvm:1: no qid:N after the label' train -q --split group:qid train.libsvm
fails_with 2 '^kerbin: --split group:user: .* is LIBSVM text' train -q --split group:user train.libsvm

# Every command that trains takes the two options, and checks them.
run sweep -q $common --values 1 --split group:patient --folds 3 grouped.csv words.csv
expect_status 0
run features -q --split group:patient -o z.libsvm grouped.csv
expect_status 0
for verb in "train" "sweep --values 1 train.libsvm" "compare train.libsvm"; do
    fails_with 2 '^kerbin: --folds 1: must be 0' $verb --folds 1 train.libsvm
    fails_with 2 '^kerbin: --split group:: must be' $verb --split group: train.libsvm
done

end
