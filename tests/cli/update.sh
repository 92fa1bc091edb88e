#!/bin/bash
# update: a model learns from more rows.
. "$(dirname "$0")/lib.sh"

for k in 1 2 3; do
    "$KERBIN" generate checkers --rows 1000 --noise 0.05 --seed $k -o part$k.csv || fail "generate"
done
"$KERBIN" generate checkers --rows 2000 --seed 9 -o test.csv || fail "generate"
{ cat part1.csv; tail -n +2 part2.csv; tail -n +2 part3.csv; } > all.csv
accuracy() {
    run predict -q --json "$1" test.csv
    json accuracy
}
run train -q -o first.kerbin part1.csv
expect_status 0
cp first.kerbin kept.kerbin
run train -q -o all.kerbin all.csv
run update -o second.kerbin first.kerbin part2.csv
expect_status 0
expect_stdout '^learned   1000 rows more, 2000 in all; [0-9]+ new bins, [0-9]+ in all$'
expect_stdout '^expect    about .* by 1000 rows held out$'
expect_same first.kerbin kept.kerbin
run update --json -o third.kerbin second.kerbin part3.csv
expect_status 0
[ "$(json rows)" = 3000 ] || fail "rows: $(json rows)"
[ "$(json rows_added)" = 1000 ] || fail "rows_added: $(json rows_added)"
expect_at_least "accuracy after three parts" "$(accuracy third.kerbin)" 0.96
expect_at_least "gain over the first part" \
    "$(awk -v a="$(accuracy third.kerbin)" -v b="$(accuracy first.kerbin)" 'BEGIN { print a - b }')" 0.005
expect_at_least "nearness to a fit of all rows" \
    "$(awk -v a="$(accuracy third.kerbin)" -v b="$(accuracy all.kerbin)" 'BEGIN { print a - b }')" -0.01

# Any number of threads, and a model that is read as well as one that was just made.
for threads in 1 3; do
    run update -q --threads $threads -o again.kerbin first.kerbin part2.csv
    expect_status 0
    expect_no_stdout
    expect_same again.kerbin second.kerbin
done
run inspect third.kerbin
expect_status 0
expect_stdout '^data      3000 rows'

# To standard output, and compressed rows of LIBSVM text.
run update -q -o - first.kerbin part2.csv
expect_same stdout second.kerbin
"$KERBIN" generate rings --rows 300 -o r.libsvm
run train -q -o r.kerbin r.libsvm
run update -q -o r2.kerbin r.kerbin r.libsvm
expect_status 0

# The model itself is not replaced.
cp first.kerbin own.kerbin
fails_with 2 'own.kerbin: would be overwritten' update -o own.kerbin own.kerbin part2.csv
fails_with 2 '^kerbin: -o is missing: where to save the new model; first.kerbin is not changed$' \
    update first.kerbin part2.csv
fails_with 2 'update takes no --sigma' update --sigma 2 -o x.kerbin first.kerbin part2.csv

# What cannot be learned from.
printf 'x1,x2,label\n0.5,0.5,1\n0.1,0.2,7\n' > other.csv
fails_with 1 'row 2: the model does not know the class 7$' update -o x.kerbin first.kerbin other.csv
printf 'x1,x2\n0.5,0.5\n' > bare.csv
fails_with 1 'no labels to learn from' update -o x.kerbin first.kerbin bare.csv
run train -q --penalty l1 --lambda 1 -o l1.kerbin part1.csv
fails_with 2 'a model with --penalty l1 cannot go on: fit it to all rows again' \
    update -o x.kerbin l1.kerbin part2.csv
fails_with 1 'memory' update --max-memory 100K -o x.kerbin first.kerbin part2.csv
expect_no_file x.kerbin
end
