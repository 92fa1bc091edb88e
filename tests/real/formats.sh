#!/bin/bash
# The same samples give the same model, however they are written down.
. "$(dirname "$0")/lib.sh"
find_data pendigits.train pendigits.test a9a.train a9a.test
grids=64
light && grids=16

train() {
    run train -q --grids $grids -o "$@"
    expect_status 0
}
decisions() {
    run predict -q --output decision -o "$1" "$2" "$3"
    expect_status 0
}
# The arrays of a model, without the header that holds the names.
arrays() {
    tail -c +$((9 + $(od -An -tu8 -N8 "$1"))) "$1"
}
# with_zeros FEATURES - LIBSVM on standard input with every zero written out.
with_zeros() {
    as_csv "$1" | awk -F, '{ printf "%s", $NF
        for (j = 1; j < NF; j++) printf " %d:%s", j, $j
        print "" }'
}

# CSV without names: the very same bytes.
text "$pendigits_train" | as_csv 16 > plain.csv
train libsvm.kerbin "$pendigits_train"
train csv.kerbin plain.csv
expect_same libsvm.kerbin csv.kerbin

# CSV with names, other delimiters, and the label in front: the same arrays.
names=$(seq -f 'pixel %g' -s ';' 16)
{ echo "digit;$names"; sed 's/\(.*\),\(.*\)/\2,\1/; s/,/;/g' plain.csv; } > named.csv
train named.kerbin --label digit named.csv
arrays libsvm.kerbin > libsvm.arrays
arrays named.kerbin > named.arrays
expect_same libsvm.arrays named.arrays
cmp -s libsvm.kerbin named.kerbin && fail "the names are not in the model"

# A CSV that is matched by name predicts what the LIBSVM file does.
text "$pendigits_test" | as_csv 16 > test.csv
{ echo "$names;digit"; tr , ';' < test.csv; } > test.named.csv
decisions libsvm.txt libsvm.kerbin "$pendigits_test"
decisions csv.txt csv.kerbin test.csv
decisions named.txt named.kerbin test.named.csv
expect_same libsvm.txt csv.txt
expect_same libsvm.txt named.txt

# Standard input.
text "$pendigits_train" > plain.libsvm
INPUT=plain.libsvm train piped.kerbin -
expect_same libsvm.kerbin piped.kerbin

# Sparse rows, and the same with their zeros written out, which are kept as dense ones.
# (A default sigma and standard scaling are sums, whose last bit depends on the form.)
text "$a9a_train" | head -n 8000 > sparse.libsvm
text "$a9a_test" | head -n 4000 > sparse.test
features=$(tr ' ' '\n' < sparse.libsvm | sed -n 's/:.*//p' | sort -n | tail -n 1)
with_zeros "$features" < sparse.libsvm > dense.libsvm
with_zeros "$features" < sparse.test > dense.test
for scale in none minmax; do
    train sparse.kerbin --scale $scale --sigma 5 sparse.libsvm
    train dense.kerbin --scale $scale --sigma 5 dense.libsvm
    # The models differ in the medians alone, which those of dense rows keep.
    decisions sparse.txt sparse.kerbin sparse.test
    decisions dense.txt sparse.kerbin dense.test
    expect_same sparse.txt dense.txt
    decisions dense.txt dense.kerbin sparse.test
    expect_same sparse.txt dense.txt
done
end
