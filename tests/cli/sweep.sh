#!/bin/bash
# kerbin sweep: tables, files, resuming, and what it refuses.
. "$(dirname "$0")/lib.sh"
run generate checkers --rows 400 --seed 1 -o train.csv
run generate checkers --rows 300 --seed 2 -o test.csv

# A table, one line a value; log-spaced values end where they should.
run sweep -q --vary sigma --values 0.1:1:3 --grids 16 train.csv test.csv
expect_status 0
[ "$(wc -l < stdout)" = 4 ] || fail "not a line a value: $(cat stdout)"
awk 'NR > 1 { print $1 }' stdout > values
printf '0.1\n0.3162\n1\n' | cmp -s - values || fail "values: $(cat values)"

# Files as the points come, the same numbers as a fit of its own.
run sweep -q --vary grids --values 8,16 --seeds 2 --sigma 0.3 -o s.csv train.csv test.csv
expect_status 0
[ "$(wc -l < s.csv)" = 5 ] || fail "s.csv: $(cat s.csv)"
run train -q --json --grids 16 --sigma 0.3 --seed 2 -o m.kerbin train.csv
bins=$(json bins)
run predict -q --json m.kerbin test.csv
accuracy=$(json accuracy)
awk -F, -v bins="$bins" -v accuracy="$accuracy" \
    '$1 == 16 && $2 == 2 { found = $6 == bins && ($4 - accuracy) ^ 2 < 1e-16 } END { exit !found }' s.csv ||
    fail "16 grids, seed 2: not $bins bins and $accuracy: $(cat s.csv)"

# Points that are there are not computed again: one is changed, and stays so.
sed 's/"test_score": [0-9.]*/"test_score": 0.125/' s.json > changed && mv changed s.json
run sweep --vary grids --values 8,16,32 --seeds 2 --sigma 0.3 -o s.csv train.csv test.csv
expect_status 0
grep -q "4 of 6 points were there already" stderr || fail "nothing was resumed: $(cat stderr)"
[ "$(grep -c ',0.125,' s.csv)" = 4 ] || fail "known points changed: $(cat s.csv)"
[ "$(wc -l < s.csv)" = 7 ] || fail "not all points: $(cat s.csv)"
[ -z "$(find . -name '*.tmp')" ] || fail "temporary files are left"

# Another sweep does not overwrite it.
run sweep --vary grids --values 8 --sigma 0.5 -o s.csv train.csv test.csv
expect_status 2
grep -q "s.json: holds something else" stderr || fail "message: $(cat stderr)"

# Threads: speed-ups, and predictions by the paper's rule.
run sweep -q --json --vary threads --values 1,2 --grids 16 --sigma 0.3 train.csv test.csv
expect_status 0
[ "$(json speedup | head -n 1)" = 1.0 ] || fail "one thread is not 1: $(cat stdout)"
awk -v D="$(json bins | tail -n 1)" -v s="$(json predicted_speedup | tail -n 1)" \
    'BEGIN { exit (s - 2 / (1 + 15 / (D - 1))) ^ 2 > 1e-10 }' || fail "predicted: $(cat stdout)"
[ "$(json objective | uniq | wc -l)" = 1 ] || fail "threads change the result"

# Regression has r2 and the relative error.
awk -F, 'NR > 1 { $3 = $1 * $1 + $2 } { print $1 "," $2 "," $3 }' train.csv > r.csv
run sweep -q --json --task regression --vary lambda --values 0.1,1 --grids 32 --sigma 0.5 r.csv r.csv
expect_status 0
awk -v r="$(json test_score | head -n 1)" 'BEGIN { exit !(r > 0.8 && r <= 1) }' || fail "r2: $(cat stdout)"

for wrong in "--values 1,x" "--values 1:2" "--values 0:1:3" "--values -1" "--values 1:2:1" ""; do
    run sweep --vary sigma $wrong train.csv test.csv
    expect_status 2
    grep -q "^kerbin: --values" stderr || fail "'$wrong': $(cat stderr)"
done
run sweep --vary sigma --values 1 --label none train.csv nowhere.csv
expect_status 1
run sweep --vary sigma --values 1 -o train.csv train.csv test.csv
expect_status 2

# Nothing of the user's is overwritten: not TEST, not a file that only the suffix names, not a table
# or a JSON file of something else.
cp train.csv t1.csv
cp test.csv t2.csv
for to in t2.csv t1; do
    run sweep --values 1 --grids 8 -o $to t1.csv t2.csv
    expect_status 2
    expect_same train.csv t1.csv
    expect_same test.csv t2.csv
done
echo mine > other.csv
run sweep --values 1 --grids 8 -o other.csv train.csv test.csv
expect_status 2
[ "$(cat other.csv)" = mine ] || fail "other.csv was overwritten"
echo mine > another.json
run sweep --values 1 --grids 8 -o another.csv train.csv test.csv
expect_status 2
[ "$(cat another.json)" = mine ] || fail "another.json was overwritten"

# A file of weights is for TRAIN alone.
awk 'NR > 1 { print 1 + NR % 3 }' train.csv > weights.txt
run sweep -q --values 1 --grids 8 --weights weights.txt train.csv test.csv
expect_status 0
run sweep --vary lambda --values 1 --penalty l1 --lambda-path 5 train.csv test.csv
expect_status 2
# A folder that does not exist is made, and its parents.
run sweep -q --values 0.3 --grids 8 -o new/er/s.csv train.csv test.csv
expect_status 0
expect_file new/er/s.csv
expect_file new/er/s.json
touch new/file
fails_with 1 '^kerbin: new/file/s.csv: cannot write: ' \
    sweep -q --values 0.3 -o new/file/s.csv train.csv test.csv
fails_with 1 '^kerbin: new/file/deeper: cannot create the folder: Not a directory' \
    sweep -q --values 0.3 -o new/file/deeper/../s.csv train.csv test.csv

# Numbers are written as people write them.
run sweep -q --vary grids --values 1024 --sigma 1 train.csv test.csv
grep -q '^ *1024 ' stdout || fail "1024 is not written as such"
end
