#!/bin/bash
# --metric: what tuning aims at.
. "$(dirname "$0")/lib.sh"
TUNE=on
"$KERBIN" generate checkers --rows 300 --seed 1 --noise 0.1 -o two.csv || fail "generate"
awk -F, 'NR == 1 { print "x,y,class"; next } { print $1 "," $2 "," ($1 < 0.3 ? "a" : $2 < 0.4 ? "b" : "c") }' \
    two.csv > three.csv
awk -F, 'NR == 1 { print "x,y,target"; next } { print $1 "," $2 "," $1 * $2 + (NR % 7) / 50 }' two.csv > numbers.csv

# By default the same model as with the metric that auto means.
run train -q --widths equal -o auto.kerbin two.csv
run train -q --widths equal --metric accuracy -o accuracy.kerbin two.csv
expect_same auto.kerbin accuracy.kerbin
for metric in balanced auc log-loss brier f1; do
    for data in two three; do
        run train -q --widths equal --folds 0 --metric $metric -o m.kerbin $data.csv
        expect_status 0
        expect_no_stderr
        run predict --json m.kerbin $data.csv
        expect_at_least "accuracy with $metric" "$(json accuracy)" 0.8
    done
done
run train -q --widths equal --task regression -o auto.kerbin numbers.csv
for metric in rmse r2 relative-error; do
    run train -q --widths equal --task regression --metric $metric -o m.kerbin numbers.csv
    expect_same auto.kerbin m.kerbin # all three are best where the squared error is least
done
run train -q --widths equal --task regression --metric mae -o m.kerbin numbers.csv
expect_status 0

fails_with 2 '^kerbin: --metric mae: is for regression, and the labels are classes$' \
    train -q --metric mae -o no.kerbin two.csv
fails_with 2 '^kerbin: --metric auc: is for classification, and the labels are numbers$' \
    train -q --metric auc --task regression -o no.kerbin numbers.csv
fails_with 2 '^kerbin: --metric nonsense: must be one of auto, accuracy, ' train -q --metric nonsense two.csv
expect_no_file no.kerbin

# The same bytes for any number of threads, which make trials side by side.
for threads in 1 4; do
    run train -q --threads $threads --widths equal --metric auc -o threads$threads.kerbin three.csv
done
expect_same threads1.kerbin threads4.kerbin

# Models that are tuned by whole fits.
run train -q --metric f1 --map fourier --grids 32 -o m.kerbin two.csv
expect_status 0
end
