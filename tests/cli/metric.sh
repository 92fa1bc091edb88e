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

# sweep, compare and --valid go by it.  The columns of before stay, and it comes behind them.
"$KERBIN" generate checkers --rows 300 --seed 2 --noise 0.1 -o test.csv || fail "generate"
column() { # FILE NAME: the cells of a column
    awk -F, -v name="$2" 'NR == 1 { for (k = 1; k <= NF; k++) if ($k == name) at = k; next } { print $at }' "$1"
}
run sweep -q --metric auc --values 0.1,1 --seeds 2 -o sweep.csv --json two.csv test.csv
expect_status 0
[ "$(json metric)" = auc ] || fail "the metric is not in the JSON"
TUNE=off
run train -q --sigma 0.1 --seed 2 -o m.kerbin two.csv
run predict -q --json m.kerbin test.csv
awk -v a="$(json auc)" -v b="$(column sweep.csv test_metric | sed -n 2p)" 'BEGIN { exit !(a != "" && (a - b) ^ 2 < 1e-18) }' ||
    fail "the metric of a sweep is not that of predict"
run sweep --metric auc --values 0.1,1 --seeds 2 -o sweep.csv two.csv test.csv
expect_stdout '^test: auc; train: accuracy$'
run sweep -q --metric mae --values 0.5 two.csv test.csv
expect_stderr_line '^kerbin: sigma 0.5: --metric mae: is for regression, and the labels are classes$'
run sweep -q --metric brier --values 0.5 two.csv test.csv
expect_stderr_line 'brier: the model has no probabilities; use --holdout 0.2 or --loss logistic$'
run sweep -q --metric brier --holdout 0.2 --values 0.5 two.csv test.csv
expect_status 0
# The star of compare is at the lowest log loss.
run compare -q --metric log-loss --loss logistic --maps binning,fourier --ranks 16 --sigmas 0.05,0.3,2 \
    -o c.csv two.csv test.csv
expect_status 0
expect_stdout 'test log loss'
awk -F, 'NR > 1 { print $NF, $1 }' c.csv | sort -n | head -n 1 > least
run compare -q --metric log-loss --loss logistic --maps binning,fourier --ranks 16 --sigmas 0.05,0.3,2 -o c.csv two.csv test.csv
[ "$(sed -n 's/^\([a-z]*\) .* \* .*/\1/p' stdout)" = "$(cut -d' ' -f2 least)" ] || fail "the star is not at the lowest log loss"
run train --metric auc --valid test.csv -o m.kerbin two.csv
expect_stdout '^valid     auc 0\.[0-9]+ on 300 rows, accuracy '
run train --metric auc --valid test.csv --penalty l1 --lambda-path 6 -o m.kerbin two.csv
expect_stdout '^ +lambda  nonzeros  train accuracy  valid auc$'
[ "$(awk '/valid auc/ { on = 1; next } /^[a-z]/ { on = 0 } on { print $5 }' stdout | sort -n | tail -n 1)" = \
    "$(awk '/best  kept/ { print $5 }' stdout)" ] || fail "the path is not chosen by auc"
fails_with 2 '^kerbin: --metric brier: the model has no probabilities; use --loss logistic$' \
    train -q --metric brier --valid test.csv --penalty l1 --lambda-path 3 -o no.kerbin two.csv
expect_no_file no.kerbin
TUNE=on

# Models that are tuned by whole fits.
run train -q --metric f1 --map fourier --grids 32 -o m.kerbin two.csv
expect_status 0
end
