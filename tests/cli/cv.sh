#!/bin/bash
# kerbin cv: scores of whole fits on folds, and out-of-fold predictions.
. "$(dirname "$0")/lib.sh"
"$KERBIN" generate checkers --rows 600 --seed 1 -o two.csv || fail "generate"
awk -F, 'NR == 1 { print "x,y,kind"; next }
    { print $1 "," $2 "," ($1 < 0.3 ? "a, b" : $2 < 0.4 ? "say \"hi\"" : "c") }' two.csv |
    sed 's/a, b/"a, b"/; s/say "hi"/"say ""hi"""/' > three.csv
common="--tune off --grids 64 --sigma 0.2"

run cv $common two.csv
expect_status 0
expect_stderr '^kerbin: fold 5 of 5 is done$'
expect_stdout '^ +fold +rows +accuracy +balanced +auc'
[ "$(grep -cE '^ +[1-5] +120 ' stdout)" = 5 ] || fail "not five folds of 120 rows"
expect_stdout '^ +mean +[0-9.]+ %'
expect_stdout '^deviation +[0-9.]+ %'

# The metric that was asked for comes first.
run cv -q $common --metric f1 --folds 3 two.csv
expect_no_stderr
expect_stdout '^ +fold +rows +f1 +accuracy'
[ "$(grep -cE '^ +[1-3] +200 ' stdout)" = 3 ] || fail "not three folds of 200 rows"

# Predictions agree with the scores: of all rows together, as all folds have the same size.
run cv -q --json $common -o out.csv two.csv
expect_status 0
expect_no_stderr
[ "$(head -n 1 out.csv)" = row,fold,label,prediction ] || fail "another header: $(head -n 1 out.csv)"
[ "$(wc -l < out.csv)" = 601 ] || fail "not a line a row"
mean=$(sed -n '/"mean"/,/}/s/.*"accuracy": \([0-9.]*\).*/\1/p' stdout)
awk -F, -v mean="$mean" 'NR > 1 { right += $3 == $4 } END { d = right / (NR - 1) - mean; exit !(d * d < 1e-20) }' out.csv ||
    fail "the predictions are not those of the scores"
expect_at_least accuracy "$mean" 0.85
# The same for any number of threads.
run cv -q --threads 3 $common -o again.csv two.csv
expect_same out.csv again.csv

# Words are written as CSV; no row is predicted by a model that has seen it or its group.
run cv -q $common -o words.csv three.csv
expect_status 0
grep -q '"say ""hi""","say ""hi"""' words.csv || fail "words are not quoted"
awk -F, 'NR == 1 { print $0 ",group"; next } { print $0 "," NR % 20 }' two.csv > grouped.csv
label=$(head -n 1 two.csv | awk -F, '{ print $NF }')
run cv -q $common --label "$label" --split group:group -o groups.csv grouped.csv
expect_status 0
awk -F, 'NR > 1 { g = ($1 + 1) % 20; if (g in of && of[g] != $2) exit 1; of[g] = $2 }' groups.csv ||
    fail "a group is in two folds"
run cv -q $common --split time -o time.csv two.csv
expect_status 0
awk -F, 'NR == 2 && $1 != 101 { exit 1 } NR > 2 && $2 < last { exit 1 } { last = $2 }' time.csv ||
    fail "time does not go forward"

# Probabilities of each class, of the model that has not seen the row; a class that a fold's model
# does not know has 0.
run cv -q --json $common --output probability -o proba.csv three.csv
expect_status 0
[ "$(head -n 1 proba.csv)" = 'row,fold,label,"a, b",c,"say ""hi"""' ] || fail "the header of probabilities"
[ "$(wc -l < proba.csv)" = 601 ] || fail "not a line a row"
awk -F, 'NR > 1 { s = $NF + $(NF - 1) + $(NF - 2); if ((s - 1) ^ 2 > 1e-20) exit 1 }' proba.csv ||
    fail "probabilities do not add up to 1"
loss=$(sed -n '/"mean"/,/}/s/.*"log_loss": \([0-9.]*\).*/\1/p' stdout)
awk -F, -v mean="$loss" 'NR > 1 { p = /^[0-9]*,[0-9],"a/ ? $(NF - 2) : /^[0-9]*,[0-9],c/ ? $(NF - 1) : $NF
    sum -= log(p) } END { d = sum / (NR - 1) - mean; exit !(d * d < 1e-12) }' proba.csv ||
    fail "the probabilities are not those of the log loss"
{ cat three.csv; echo '0.5,0.5,row'; } > rare.csv
run cv -q --output probability $common -o rare.out rare.csv
expect_status 0
[ "$(head -n 1 rare.out)" = 'row,fold,label,"a, b",c,row.1,"say ""hi"""' ] || fail "a class named row"
awk -F, '$1 == 601 { seen = $(NF - 1) == 0 } END { exit !seen }' rare.out || fail "an unknown class has no 0"
fails_with 2 '^kerbin: --output set: cv writes label or probability$' cv -q --output set -o no.csv three.csv
fails_with 2 '^kerbin: --output probability: give -o a file' cv -q --output probability three.csv
fails_with 2 '^kerbin: --output probability: is for classes, and the labels are numbers$' \
    cv -q $common --task regression --output probability -o no.csv two.csv
expect_no_file no.csv

# Tuned, by default.
if ! light; then
    run cv -q --json --widths equal --folds 2 two.csv
    expect_status 0
fi

# A regression.
awk -F, 'NR == 1 { print "x,y,target"; next } { print $1 "," $2 "," $1 * $2 }' two.csv > numbers.csv
run cv -q $common --task regression numbers.csv
expect_stdout '^ +fold +rows +rmse +mae +r2'

# Refusals: nothing is written, and no input is overwritten.
cp two.csv copy.csv
fails_with 2 '^kerbin: two.csv: would be overwritten' cv -q -o two.csv two.csv
fails_with 2 '^kerbin: --folds 0: must be 2 or more' cv -q --folds 0 two.csv
fails_with 2 'lambda-path' cv -q --penalty l1 --lambda-path 5 -o no.csv two.csv
fails_with 2 '^kerbin: --metric mae: is for regression' cv -q $common --metric mae -o no.csv two.csv
fails_with 1 '^kerbin: nowhere/x.csv: cannot write' cv -q -o nowhere/x.csv two.csv
expect_no_file no.csv
expect_same two.csv copy.csv
command="kerbin cv (stopped by INT)"
status=0
timeout --preserve-status -s INT 0.5 "$KERBIN" cv -q --grids 20000 --tune off --lambda 1e-9 --tol 1e-14 \
    --max-iter 100000 -o no.csv two.csv > stdout 2> stderr || status=$?
expect_status 130
expect_stderr_line '^kerbin: interrupted$'
expect_no_file no.csv
end
