#!/bin/bash
# kerbin compare: tables, tuning of sigma, files, resuming, failures, and errors.
. "$(dirname "$0")/lib.sh"
run generate checkers --rows 400 --seed 1 -o train.csv
run generate checkers --rows 300 --seed 2 -o test.csv

# A table, one line a map and rank, the best of each rank marked.
run compare -q --maps binning --ranks 8,32 --sigmas 0.1,100 train.csv test.csv
expect_status 0
expect_no_stderr
[ "$(wc -l < stdout)" = 3 ] || fail "not a line a rank: $(cat stdout)"
head -n 1 stdout | grep -q '^map .*rank .*sigma .*D .*test accuracy .*train s .*test s .*memory$' ||
    fail "header: $(head -n 1 stdout)"
awk 'NR > 1 { print $1, $2, $3, $6 }' stdout > lines
printf 'binning 8 0.1 *\nbinning 32 0.1 *\n' | cmp -s - lines || fail "lines: $(cat lines)"

# A map or rank that is given twice counts once.
run compare -q --maps binning,binning --ranks 8,16,8 --sigmas 0.3 train.csv test.csv
expect_status 0
[ "$(wc -l < stdout)" = 3 ] || fail "lines twice: $(cat stdout)"

# Sigma is tuned on rows of TRAIN, and the score is that of a fit to all of it.
run compare --maps binning --ranks 8,16 --seeds 2 --sigmas 0.01,0.3,1000 -o c.csv train.csv test.csv
expect_status 0
expect_stdout ' \+- 0\.'
[ "$(wc -l < c.csv)" = 5 ] || fail "c.csv: $(cat c.csv)"
run train -q --json --grids 16 --sigma 0.3 --seed 2 -o m.kerbin train.csv
bins=$(json bins)
run predict -q --json m.kerbin test.csv
accuracy=$(json accuracy)
awk -F, -v bins="$bins" -v accuracy="$accuracy" \
    '$1 == "binning" && $2 == 16 && $5 == 2 {
         found = $3 == 0.3 && $4 > 0.5 && $9 == bins && ($7 - accuracy) ^ 2 < 1e-16 }
     END { exit !found }' c.csv || fail "16 grids, seed 2: not $bins bins and $accuracy: $(cat c.csv)"

# All members; the program and the file tell the same.
run compare -q --json --maps binning --ranks 8,16 --seeds 2 --sigmas 0.01,0.3,1000 train.csv test.csv
for key in command map rank sigma seed validation_score test_score test_error bins bin_seconds \
    solve_seconds test_seconds memory_bytes; do
    grep -q "\"$key\": [^n]" stdout || fail "no $key in the JSON"
done
grep -q '"failed": \[\]' stdout || fail "failures: $(cat stdout)"
json test_score > scores
cp c.json stdout
json test_score | cmp -s - scores || fail "the file has other scores"

# Points that are there are not computed again, nor is their sigma tuned again.
sed 's/"test_score": [0-9.]*/"test_score": 0.125/; s/"sigma": 0.3[0-9]*/"sigma": 0.29/' c.json > changed &&
    mv changed c.json
run compare --maps binning --ranks 8,16,32 --seeds 3 --sigmas 0.01,0.3,1000 -o c.csv train.csv test.csv
expect_status 0
expect_stderr '4 of 9 points were there already'
[ "$(grep -c ',0.125,' c.csv)" = 4 ] || fail "known points changed: $(cat c.csv)"
[ "$(grep -c '^binning,16,0.29,' c.csv)" = 3 ] || fail "sigma was tuned again: $(cat c.csv)"
[ "$(wc -l < c.csv)" = 10 ] || fail "not all points: $(cat c.csv)"
[ ! -e c.part ] || fail "c.part was left"

# With other --sigmas it does not continue from the file.
run compare --maps binning --ranks 8 --sigmas 0.3 -o c.csv train.csv test.csv
expect_status 2
expect_stderr 'c.json: holds something else'

# If a fit fails, its line says why, and the others go on.
run compare -q --maps binning --ranks 8,100000 --sigmas 0.1,0.3 --max-memory 1M -o f.csv train.csv test.csv
expect_status 0
grep -Eq '^binning +100000 +100000 grids .* memory' stdout || fail "no reason: $(cat stdout)"
grep -Eq '^binning +8 .*\*' stdout || fail "the other line: $(cat stdout)"
cp f.json stdout
grep -q '"reason": "100000 grids' stdout || fail "no reason in the JSON: $(cat stdout)"
[ "$(json rank | tr '\n' ' ')" = "8 100000 " ] || fail "ranks: $(cat stdout)"

# A sigma at an end of the list is reported.
run compare --maps binning --ranks 8 --sigmas 0.3,1000 train.csv test.csv
expect_stderr '1 of the tuned sigmas is at an end of --sigmas'

# A single sigma is not tuned.
run compare -q --json --maps binning --ranks 8 --sigmas 0.3 train.csv test.csv
expect_stdout '"validation_score": null'

# Words as labels, one of them so rare that a part may lack it.
awk -F, 'BEGIN { OFS = "," } NR > 1 { $3 = NR == 2 ? "aaa" : $3 > 0 ? "yes" : "no" } { print }' \
    train.csv > words.csv
awk -F, 'BEGIN { OFS = "," } NR > 1 { $3 = $3 > 0 ? "yes" : "no" } { print }' test.csv > words.test.csv
run compare -q --json --maps binning --ranks 32 --sigmas 0.3,100 words.csv words.test.csv
expect_status 0
expect_at_least "accuracy with words" "$(json test_score)" 0.6
expect_at_least "validation with words" "$(json validation_score)" 0.6

# Regression is scored by the relative error.
awk -F, 'NR > 1 { $3 = $1 * $1 + $2 + 1 } { print $1 "," $2 "," $3 }' train.csv > r.csv
run compare -q --task regression --lambda 0.1 --maps binning --ranks 4,64 --sigmas 0.1,1 --seeds 2 r.csv r.csv
expect_status 0
expect_stdout 'relative error'
awk 'NR == 3 { exit !($5 > 0 && $5 < 0.2) }' stdout || fail "relative error: $(cat stdout)"

# The other maps, as far as the program has them.
"$KERBIN" help train | tr -s ' \n' ' ' | sed 's/.*--map MAP//; s/--kernel.*//' > maps
for map in fourier nystrom blocks; do
    grep -q "$map" maps || continue
    run compare -q --json --maps "binning,$map" --ranks 32 --sigmas 0.1,0.3,1 train.csv test.csv
    expect_status 0
    [ "$(json map | tr '\n' ' ')" = "binning $map " ] || fail "$map: $(cat stdout)"
done
if grep -q exact maps; then
    run compare -q --maps exact,binning --ranks 8,16 --sigmas 0.1,0.3,1 train.csv test.csv
    expect_status 0
    [ "$(grep -Ec '^exact +- ' stdout)" = 1 ] || fail "exact is not there once: $(cat stdout)"
    run compare -q --maps exact --sigmas 0.3 train.csv test.csv
    expect_status 0
fi

# What it refuses.
fails_with 2 '^kerbin: --maps: required' compare --ranks 8 train.csv test.csv
fails_with 2 '^kerbin: --ranks: required' compare --maps binning train.csv test.csv
fails_with 2 "^kerbin: --map nonsense: must be" compare --maps binning,nonsense --ranks 8 train.csv test.csv
fails_with 2 '^kerbin: --map' compare --maps binning, --ranks 8 train.csv test.csv
fails_with 2 '^kerbin: --grids 2000000: must be' compare --maps binning --ranks 2000000 train.csv test.csv
fails_with 2 '^kerbin: --sigma: compare takes a list, --sigmas' \
    compare --maps binning --ranks 8 --sigma 1 train.csv test.csv
for wrong in "--ranks 1,x" "--ranks 0" "--ranks 1:2" "--sigmas -1" "--sigmas 1:2:1"; do
    # shellcheck disable=SC2086
    fails_with 2 "^kerbin: ${wrong%% *}" compare --maps binning --ranks 8 $wrong train.csv test.csv
done
fails_with 2 'would be overwritten' compare --maps binning --ranks 8 -o test.csv train.csv test.csv
fails_with 1 'nowhere.csv' compare -q --maps binning --ranks 8 --sigmas 1 train.csv nowhere.csv
end
