#!/bin/bash
# inspect lists the features by importance where their widths differ; --scale ranks from the
# command line.
. "$(dirname "$0")/lib.sh"

awk 'BEGIN { srand(1); print "near,far,tail,y"
    for (i = 0; i < 400; i++) {
        a = rand(); b = rand(); c = exp(9 * rand()); print a "," b "," c "," a + b / 10 } }' > t.csv
run train -q --scale none --sigma 4,0.1,1e6 -o names.kerbin t.csv
expect_status 0
run inspect names.kerbin
expect_status 0
expect_no_stderr
grep '%  ' stdout > list
[ "$(awk '{ print $3 }' list | tr '\n' ' ')" = "far near tail " ] || fail "the order of the features"
run inspect --json names.kerbin
expect_status 0
for name in near far tail; do
    share=$(json $name)
    awk -v s="$share" 'BEGIN { exit !(s != "" && s >= 0 && s <= 1) }' || fail "the share of $name is '$share'"
done
awk -v a="$(json near)" -v b="$(json far)" -v c="$(json tail)" \
    'BEGIN { s = a + b + c - 1; exit !(s < 1e-12 && s > -1e-12) }' ||
    fail "the shares do not sum to 1"

# Equal widths say nothing in words.
run train -q -o equal.kerbin t.csv
run inspect equal.kerbin
expect_status 0
! grep -q importance stdout || fail "a list for equal widths"

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
run predict -q -o f.txt ranks.kerbin t.csv
expect_status 0
expect_stdout '^rmse .* on 400 rows$'
[ "$(wc -l < f.txt)" -eq 400 ] || fail "not a line for every row"
end
