#!/bin/bash
# kerbin report MODEL TEST: one page for one model, whole and self-contained.
. "$(dirname "$0")/lib.sh"
awk 'BEGIN { srand(3); print "size,<b>,town,kind,price"
    for (i = 0; i < 400; i++) {
        s = rand(); t = int(3 * rand())
        print s "," rand() "," substr("xyz", t + 1, 1) "," (s + t / 3 > 0.8 ? "<i>hot" : "cold") "," 3 * s + t } }' > t.csv
head -n 300 t.csv > train.csv
sed '2,300d' t.csv > test.csv

# on PAGE TEXT.. - all of them are there.
on() {
    local page=$1
    shift
    for text in "$@"; do
        grep -qF -- "$text" "$page" || fail "not on $page: $text"
    done
    grep -Eq 'https?://|<script|<link|<iframe|@import|url\(' "$page" && fail "$page loads or runs something"
    grep -Eq '<[bi]>' "$page" && fail "a name came through as HTML"
    grep -o " id=[\"'][^\"']*" "$page" | sort | uniq -d | grep . && fail "a name is there twice"
}

# Two classes, with trials and probabilities.
TUNE=on
run train -q --label kind --ignore price --loss logistic --sigma 0.5 -o kind.kerbin train.csv
TUNE=off
run report -o kind.html kind.kerbin test.csv
expect_status 0
expect_no_stdout
expect_stderr_line '^kerbin: the report is in kind.html$'
on kind.html 'classification into 2 classes of kind, tested on test.csv' 'Expected on new rows' \
    'Measured on the test rows' 'area under the ROC curve' 'log loss' 'Confusion matrix' 'Calibration error' \
    '&lt;i&gt;hot' 'What was tried' '<h2>Columns</h2>' '<td>category</td>' '&lt;b&gt;' \
    'kerbin predict kind.kerbin new.csv' 'BinningClassifier.load' 'price</td><td>ignored, left out' \
    'kerbin report -o kind.html kind.kerbin test.csv'
range=$(sed 1d test.csv | cut -d, -f1 | sort -g | sed -n '1p;$p' | paste -sd' ' | awk '{ printf "%.4g to %.4g", $1, $2 }')
on kind.html "<td>size</td><td>number</td><td>0</td><td>$range</td>" 'ranges those of 101 test rows'
run inspect kind.kerbin
on kind.html "<span class=\"score\">$(sed -n 's/^expect .*about \(.* %\) wrong .*/\1/p' stdout) <small>wrong" \
    "$(sed -n 's/^expect .*(\(95 %: .*\)), by.*/\1/p' stdout), by"
run predict --json kind.kerbin test.csv
right=$(json accuracy)
total=$(sed -n 's/.*--share:[0-9.]*">\([0-9]*\)<.*/\1/p' kind.html | wc -l)
[ "$total" -eq 2 ] || fail "not two lines of the matrix"
sed -n '/class="matrix"/,/<\/table>/p' kind.html | grep -o '">[0-9]*<' | tr -d '"><' | tr '\n' ' ' > matrix
awk -v right="$right" '{ n = $1 + $2 + $3 + $4; e = ($1 + $4) / n - right; exit !(n == 101 && e * e < 1e-8) }' matrix ||
    fail "the matrix $(cat matrix) is not that of accuracy $right"

# Regression, untuned.
run train -q --label price --ignore kind --importance on -o price.kerbin train.csv
run report -q -o price.html price.kerbin test.csv
expect_status 0
expect_no_stderr
on price.html 'regression of price' 'Explained variance' 'Which columns matter' 'BinningRegressor.load'
grep -q 'What was tried' price.html && fail "trials where there were none"

# Intervals: the share inside and the width are those of predict.
on price.html 'Prediction intervals' 'asked for'
run predict -q --output interval --coverage 0.8 -o i.csv price.kerbin test.csv
want=$(paste -d, i.csv test.csv | awk -F, 'NR > 1 { n++; in_ += $2 <= $NF && $NF <= $3 } END { printf "%.1f", 100 * in_ / n }')
grep -q "<td>80 %</td><td>$want % &plusmn;" price.html || fail "not $want % inside of 80 %"
wide=$(awk -F, 'NR > 1 { n++; w += $3 - $2 } END { printf "%.4g", w / n }' i.csv)
grep -q "<td>80 %</td>.*<td>$wide</td>" price.html || fail "not $wide wide"
on kind.html 'Sets of classes' 'classes in a set'
run train -q --label price --ignore kind --holdout off -o off.kerbin train.csv
run report -q -o off.html off.kerbin test.csv
expect_status 0
grep -q 'Prediction intervals' off.html && fail "intervals without rows held out"

# Counts and quantiles: what their losses aim at, and predictions instead of decisions.
awk 'BEGIN { srand(5); print "x,z,count"; for (i = 0; i < 900; i++) { x = rand()
    k = 0; p = rand(); limit = exp(-exp(3 * x)); while (p > limit && k < 60) { k++; p *= rand() }
    print x "," rand() "," k } }' > count.csv
fixed="--task regression --sigma 0.123456789 --lambda 1 --grids 64 --importance on"
run train -q $fixed --loss poisson -o poisson.kerbin count.csv
run report -q -o poisson.html poisson.kerbin count.csv
expect_status 0
on poisson.html '<small>rmse</small>' 'on 900 rows; poisson deviance ' 'laplace, sigma 0.12346</dd>'
run inspect poisson.kerbin
expect_stdout '^kernel +laplace, sigma 0.12346$'
run predict -q poisson.kerbin count.csv
largest=$(sort -g stdout | tail -n 1)
run explain -q --json --top 1 poisson.kerbin count.csv
python3 - "$largest" stdout << 'EOF' || fail "the partial dependence is not of the predictions"
import json, sys
mean = [value for point in json.load(open(sys.argv[2]))["dependence"][0]["mean"] for value in (point if isinstance(point, list) else [point])]
sys.exit(not 0.3 * float(sys.argv[1]) < max(mean) < float(sys.argv[1]) or min(mean) <= 0)
EOF
run train -q $fixed --loss quantile --quantile 0.8 -o quantile.kerbin count.csv
run report -q -o quantile.html quantile.kerbin count.csv
expect_status 0
run predict -q -o q.txt quantile.kerbin count.csv
below=$(tail -n +2 count.csv | paste -d, q.txt - | awk -F, '{ n += $4 <= $1 } END { printf "%.1f", 100 * n / NR }')
on quantile.html '<small>pinball</small>' 'a quantile has no expected error' "<span class=\"score\">$below %" \
    'of the labels; 80 % were asked for'

# Three classes on standard output, always the same.
run train -q --label town -o town.kerbin train.csv
run report -q town.kerbin test.csv
expect_status 0
cp stdout town.html
on town.html 'classification into 3 classes of town'
run report -q town.kerbin test.csv
expect_same stdout town.html

if command -v gnuplot > /dev/null; then
    # ROC, precision and recall, calibration, two of sets, importance, three dependences, trials.
    [ "$(grep -c '<svg ' kind.html)" = 10 ] || fail "not 10 figures: $(grep -c '<svg ' kind.html)"
    [ "$(grep -c '<svg ' town.html)" = 9 ] || fail "not 9 figures: $(grep -c '<svg ' town.html)"
    on town.html 'ROC curve' 'Precision and recall' '>x<' '>y<' '>z<'
    on kind.html 'How predictions move' 'ROC curve of cold' 'Precision and recall' 'true positive rate'
    [ "$(grep -c '<svg ' price.html)" = 8 ] || fail "not 8 figures: $(grep -c '<svg ' price.html)"
    on price.html 'Residuals over predictions' 'Labels over predictions' 'share of labels inside' 'mean width'
    # Numbers as people write them, also on axes.
    grep -E '>[^<]*[0-9]e[+-][0-9]' price.html && fail "a number with an exponent"
fi

# Without gnuplot the numbers are there.
mkdir empty
command="report without gnuplot"
status=0
PATH=$PWD/empty "$KERBIN" report -q -o plain.html kind.kerbin test.csv 2> stderr > stdout || status=$?
expect_status 0
expect_stderr_line '^kerbin: warning: the page has no figures: gnuplot is not installed'
on plain.html 'Confusion matrix' 'What was tried'

# What does not work.
cut -d, -f1-3 test.csv > bare.csv
fails_with 1 '^kerbin: bare.csv: has no labels to score against$' report -o p.html kind.kerbin bare.csv
expect_no_file p.html
fails_with 2 'would be overwritten' report -o kind.kerbin kind.kerbin test.csv
fails_with 2 'would be overwritten' report -o test.csv kind.kerbin test.csv
fails_with 1 'test.csv: ' report test.csv kind.kerbin
end
