#!/bin/bash
# kerbin compact and train --compact: smaller files that predict nearly the same.
. "$(dirname "$0")/lib.sh"

awk 'BEGIN { srand(3); print "x,y,when,colour,size,kind"
    for (i = 0; i < 600; i++) { x = rand(); y = rand()
        printf "%.4f,%s,2021-03-%02d,%s,%.3f,%s\n", x, i % 9 ? y : "", i % 28 + 1,
            i % 3 ? "red" : "blue", sin(6 * x) + y, (x + y > 1.2 ? "c" : x > y ? "b" : "a") } }' > data.csv
for label in kind size; do
    run train -q --label $label --grids 64 --holdout auto -o whole.kerbin data.csv
    expect_status 0
    run compact -o small.kerbin whole.kerbin data.csv
    expect_status 0
    expect_no_stderr
    grep -q '^compact   .* -> .*; decisions move by about .*, at most ' stdout || fail "no sizes: $(cat stdout)"
    grep -q '^moved .* in 600 rows' stdout || fail "not what moved"
    grep -q '^before ' stdout && grep -q '^after ' stdout || fail "no scores"
    whole=$(wc -c < whole.kerbin) small=$(wc -c < small.kerbin)
    [ $((small * 2)) -lt "$whole" ] || fail "$whole bytes became $small"
    # What the file says is what was printed, and inspect says it.
    run compact --json -o again.kerbin whole.kerbin data.csv
    expect_same small.kerbin again.kerbin
    expect_stdout "\"bytes_before\": $whole,"
    expect_stdout "\"bytes\": $small,"
    run inspect small.kerbin
    grep -q '^compact   decisions differ .* by about .*, at most .*; 0 bins without weights' stdout || fail "inspect does not say it"
    # Every output, explanations, features and reports work from either file.
    outputs="label decision novelty"
    [ $label = kind ] && outputs="$outputs probability set" || outputs="$outputs interval"
    for output in $outputs; do
        for model in whole small; do
            run predict -q --output $output -o $model.txt $model.kerbin data.csv
            expect_status 0
        done
        [ "$(wc -l < whole.txt)" = "$(wc -l < small.txt)" ] || fail "$output: other lines"
        [ $output = novelty ] && expect_same whole.txt small.txt
        [ $output = decision ] && cmp -s whole.txt small.txt && fail "nothing moved"
    done
    run predict -q --trust --output $output -o trusted.txt small.kerbin data.csv
    expect_same small.txt trusted.txt
    run explain -q -o why.csv --samples 4 small.kerbin data.csv
    expect_status 0
    run features -q --from small.kerbin -o z.libsvm data.csv
    expect_status 0
    run report -q -o page.html small.kerbin data.csv
    expect_status 0
done

# Without the smallest weights: smaller still, and every bin is known.
run train -q --label kind --grids 64 --holdout auto -o whole.kerbin data.csv
run compact -q -o small.kerbin whole.kerbin
run compact --drop 0.05 -o less.kerbin whole.kerbin data.csv
expect_status 0
expect_stdout '^dropped   the smallest weights, those of [1-9][0-9]* % of the bins'
[ "$(wc -c < less.kerbin)" -lt "$(wc -c < small.kerbin)" ] || fail "not smaller"
for model in whole less; do
    run predict -q --output novelty -o $model.txt $model.kerbin data.csv
done
expect_same whole.txt less.txt
run compact --drop 1 whole.kerbin
expect_status 2
expect_stderr_line "drop"

# At the end of training it is the same file.
run train -q --label size --tune off --grids 32 -o whole.kerbin data.csv
run compact -q whole.kerbin
expect_status 0
expect_no_stderr
[ -s whole.compact.kerbin ] || fail "not the default name"
run train --label size --tune off --grids 32 --compact -o small.kerbin data.csv
expect_status 0
grep -q '^compact ' stdout || fail "train does not tell"
expect_same small.kerbin whole.compact.kerbin
run train --json --label size --tune off --grids 32 --compact -o small.kerbin data.csv
grep -q '"compact"' stdout || fail "not in the JSON of train"

# Refused in one line.
run compact small.kerbin
expect_status 2
expect_stderr_line "the model is compact already"
run compact -o whole.kerbin whole.kerbin
expect_status 2
expect_stderr_line "would be overwritten by the output"
run train -q --label size --tune off --map fourier --grids 16 --compact -o fourier.kerbin data.csv
expect_status 2
expect_stderr_line "a compact model needs --map binning"
expect_no_file fourier.kerbin
run train -q --label size --map fourier --grids 16 -o fourier.kerbin data.csv
run compact fourier.kerbin
expect_status 2
expect_stderr_line "a compact model needs --map binning"
end
