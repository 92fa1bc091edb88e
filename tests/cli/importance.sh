#!/bin/bash
# inspect lists the features by importance, and by how finely the grids split them; --scale ranks
# from the command line.
. "$(dirname "$0")/lib.sh"

awk 'BEGIN { srand(1); print "near,far,tail,y"
    for (i = 0; i < 400; i++) {
        a = rand(); b = rand(); c = exp(9 * rand()); print a "," b "," c "," a + b / 10 } }' > t.csv
run train -q --scale none --sigma 4,0.1,1e6 --importance on -o names.kerbin t.csv
expect_status 0
run inspect names.kerbin
expect_status 0
expect_no_stderr
expect_stdout '^features  by importance: how much r2 drops on 80 validation rows if a feature is$'
expect_stdout "; then its share of the grids' splits, which says how finely it is split\$"
grep ' +- ' stdout > list
[ "$(awk '{ print $6 }' list | tr '\n' ' ')" = "near far tail " ] || fail "the order of the features"
awk '{ exit !($4 > 0) }' list || fail "no share of the splits"
run inspect --json names.kerbin
expect_status 0
cp stdout told.json
python3 - << 'END' || fail "importance in JSON"
import json
told = json.load(open("told.json"))
drop, error, fine = told["importance"]["drop"], told["importance"]["standard_error"], told["fineness"]
assert list(drop) == list(error) == list(fine) == ["near", "far", "tail"], told
assert told["importance"]["score"] == "r2" and told["importance"]["rows"] == 80
assert told["importance"]["repeats"] >= 1 and told["importance"]["before"] > 0.5
assert drop["near"] > 0.3 > abs(drop["tail"]) and all(0 <= e < 0.5 for e in error.values())
assert fine["far"] > fine["near"] > fine["tail"] and abs(sum(fine.values()) - 1) < 1e-12
END

# Not measured: the splits under their own name; equal widths say nothing.
run train -q --scale none --sigma 4,0.1,1e6 -o splits.kerbin t.csv
run inspect splits.kerbin
expect_stdout '^features  by how finely the grids split them; their importance was not measured$'
[ "$(grep '%  ' stdout | awk '{ print $3 }' | tr '\n' ' ')" = "far near tail " ] ||
    fail "the order of the splits"
run train -q -o equal.kerbin t.csv
run inspect equal.kerbin
expect_status 0
! grep -q '^features' stdout || fail "a list for equal widths"
if command -v gnuplot > /dev/null; then
    fails_with 2 '^kerbin: --plot: the importance of the features was not measured, and their widths are equal; train with --importance on$' \
        inspect --plot equal.svg equal.kerbin
    expect_no_file equal.svg
    run inspect --plot splits.svg splits.kerbin
    grep -q 'How finely the grids split the features' splits.svg || fail "the title of the splits"
    run inspect --plot names.svg names.kerbin
    grep -q 'r2 lost if shuffled' names.svg || fail "the axis of the importance"
fi
run train -q --importance on -o equal.kerbin t.csv
run inspect equal.kerbin
expect_stdout '^          shuffled$'

# Tuned models have it unless told otherwise.
TUNE=on
run train -q --sigma 0.5 -o tuned.kerbin t.csv
run inspect tuned.kerbin
expect_stdout '^features  by importance'
run train -q --sigma 0.5 --importance off -o tuned.kerbin t.csv
run inspect tuned.kerbin
! grep -q '^features  by importance' stdout || fail "a list with --importance off"
TUNE=off
run train --importance on -q -o few.kerbin <(head -n 20 t.csv)
expect_status 0
expect_stderr_line '^kerbin: warning: the importance of the features is not measured: there are too few rows$'

# Features without names, more than are shown; counted as the data count.
awk 'BEGIN { srand(2); for (i = 0; i < 100; i++) { printf "%g", rand()
    for (j = 1; j <= 20; j++) printf " %d:%g", j, rand(); print "" } }' > many.libsvm
sigmas=$(seq -s, 1 20)
run train -q --scale none --task regression --sigma "$sigmas" -o many.kerbin many.libsvm
expect_status 0
run inspect many.kerbin
expect_stdout '^ +[0-9.]+ %  1$'
expect_stdout '^ +and 5 more$'
[ "$(grep -c '%  ' stdout)" -eq 15 ] || fail "not 15 features"
run train -q --zero-based --scale none --task regression --sigma "$(seq -s, 1 21)" -o zero.kerbin many.libsvm
run inspect --json zero.kerbin
[ -n "$(json 0)" ] && [ -z "$(json 21)" ] || fail "not counted from 0"

# --scale ranks through a file and back.
run train -q --scale ranks -o ranks.kerbin t.csv
expect_status 0
run inspect ranks.kerbin
expect_stdout 'x 3 features, scaled by ranks$'
run predict -o f.txt ranks.kerbin t.csv
expect_status 0
expect_stdout '^rmse .* on 400 rows'
[ "$(wc -l < f.txt)" -eq 400 ] || fail "not a line for every row"
end
