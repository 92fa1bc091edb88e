#!/bin/bash
# The reader printed in docs/model-format.md decides what kerbin decides.
. "$(dirname "$0")/lib.sh"
find_data pendigits.train pendigits.test cadata.libsvm
python=
for one in "${PYTHON:-python3}" /usr/bin/python3; do
    "$one" -c 'import numpy' 2> /dev/null || continue
    python=$one
    break
done
if [ -z "$python" ]; then
    echo "skipped: no python3 with numpy"
    exit 77
fi
sed -n '/^```python$/,/^```$/p' "$TESTS/../../docs/model-format.md" | sed '/^```/d' > reader.py
[ -s reader.py ] || fail "no reader in the docs"

# compare NAME TRAIN TEST OPTION.. - TEST is CSV with the label last.
compare() {
    local name=$1 train=$2 test=$3 rows differ
    shift 3
    run train -q --grids 40 -o m.kerbin "$@" "$train"
    expect_status 0
    run predict -q --output decision -o kerbin.txt m.kerbin "$test"
    expect_status 0
    command="reader.py < $test"
    sed 's/,[^,]*$//' "$test" | "$python" reader.py m.kerbin > numpy.txt 2> stderr || fail "the reader fails"
    rows=$(wc -l < "$test")
    differ=$(difference "$rows" kerbin.txt numpy.txt)
    echo "$name: $rows rows differ by $differ"
    [ "$(wc -l < numpy.txt)" -eq "$rows" ] || fail "not a decision for every row"
    # The sums of R doubles may run in another order.
    expect_at_most "difference of the decisions" "$differ" 1e-12
}
text "$pendigits_test" | head -n 1000 | as_csv 16 > digits.csv
compare pendigits "$pendigits_train" digits.csv
split 16512 "$cadata_libsvm" train.libsvm test.libsvm
head -n 1000 test.libsvm | as_csv 8 > houses.csv
compare cadata train.libsvm houses.csv --kernel power:2 --scale standard
compare "cadata, few of the bins" train.libsvm houses.csv --penalty l1 --lambda 1e6
compare "cadata, ranks" train.libsvm houses.csv --scale ranks
# Samples that meet no known bin get the prior; a few are enough.
sed 's/[^,]*,/1e7,/' houses.csv | head -n 20 > far.csv
compare "cadata, far out" train.libsvm far.csv --sigma 0.01
# Which side of a slope a row is on: with mixtures of its columns.
awk 'BEGIN {
    srand(1)
    for (i = 0; i < 600; i++) {
        for (j = sum = 0; j < 6; j++) {
            sum += x = rand() - 0.5
            printf "%.6f,", x
        }
        print (sum > 0) ? 1 : 0
    }
}' > slope.csv
TUNE=on
compare "a slope, mixtures" slope.csv slope.csv
grep -aq '"mixture.weight"' m.kerbin || fail "a slope without mixtures"
# Models of every format version, and of a table with words, dates and missing cells.
for model in "$TESTS"/../golden/*.kerbin; do
    name=$(basename "$model" .kerbin)
    grep -aq '"rival' "$model" && continue # the reader is for random binning
    rows=$(wc -l < "${model%.kerbin}.csv")
    "$python" reader.py "$model" < "${model%.kerbin}.csv" > numpy.txt 2> stderr || fail "the reader fails"
    differ=$(difference "$rows" "${model%.kerbin}.txt" numpy.txt)
    echo "golden $name: $rows rows differ by $differ"
    [ "$(wc -l < numpy.txt)" -eq "$rows" ] || fail "not a decision for every row"
    expect_at_most "difference of the decisions" "$differ" 1e-12
done
end
