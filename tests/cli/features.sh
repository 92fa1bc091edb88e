#!/bin/bash
# Z as LIBSVM text: a label, and one column for each grid.
. "$(dirname "$0")/lib.sh"
make_data

run features --grids 16 --sigma 0.3 -o z.libsvm train.libsvm
expect_status 0
expect_no_stdout
expect_stderr '2000 rows x [0-9]+ columns'
awk 'NF != 17 { bad++ } END { exit bad > 0 || NR != 2000 }' z.libsvm || fail "not 16 entries a row"
awk '{ for (i = 2; i <= NF; i++) {
           split($i, e, ":"); if (e[1] <= last[NR] || e[2] != 0.25) bad++; last[NR] = e[1] } }
    END { exit bad > 0 }' z.libsvm || fail "columns do not rise, or a value is not 1/sqrt(R)"
cut -d' ' -f1 train.libsvm > expected
cut -d' ' -f1 z.libsvm > labels
awk '{ print $1 + 0 }' expected > a && awk '{ print $1 + 0 }' labels > b
expect_same a b

# The same to standard output, and the map of a model with the same options is the same.
run features -q --grids 16 --sigma 0.3 train.libsvm
expect_status 0
expect_same stdout z.libsvm
"$KERBIN" train -q --tune off --grids 16 --sigma 0.3 -o m.kerbin train.libsvm > /dev/null
run features -q --from m.kerbin train.libsvm
expect_status 0
expect_same stdout z.libsvm

# With new samples, a grid where they meet no known bin has no entry.
run features -q --from m.kerbin test.libsvm
expect_status 0
[ "$(wc -l < stdout)" -eq 500 ] || fail "not 500 rows"
awk 'NF > 17 { bad++ } END { exit bad > 0 }' stdout || fail "more than 16 entries in a row"

fails_with 2 '^kerbin: --sigma: the map comes from the model' \
    features --from m.kerbin --sigma 1 test.libsvm
fails_with 1 '^kerbin: missing: ' features -q missing
fails_with 1 '^kerbin: missing: ' features -q --from missing test.libsvm
end
