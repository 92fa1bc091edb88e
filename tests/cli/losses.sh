#!/bin/bash
# Losses, probabilities and weights from the command line.
. "$(dirname "$0")/lib.sh"
make_data
common="--sigma 0.2 --grids 64 --lambda 0.1"

# expect_probabilities FILE HEADER ROWS - a header, and rows of numbers in [0, 1] that sum to 1.
expect_probabilities() {
    [ "$(head -n 1 "$1")" = "$2" ] || fail "the header of $1 is $(head -n 1 "$1")"
    awk -F, -v rows="$3" -v columns="$(awk -F, '{ print NF; exit }' "$1")" '
        NR > 1 { sum = 0
                 if (NF != columns) bad = 1
                 for (c = 1; c <= NF; c++) { if ($c < 0 || $c > 1) bad = 1; sum += $c }
                 if (sum < 1 - 1e-9 || sum > 1 + 1e-9) bad = 1 }
        END { exit bad || NR != rows + 1 }' "$1" || fail "$1 does not hold probabilities"
}

# expect_most_probable PROBABILITIES LABELS - the largest of a row stands under its label.
expect_most_probable() {
    tail -n +2 "$1" | paste -d, - "$2" | awk -F, -v header="$(head -n 1 "$1")" '
        BEGIN { split(header, name, ",") }
        { best = 1
          for (c = 2; c < NF; c++) if ($c > $best) best = c
          if (name[best] != $NF) bad = 1 }
        END { exit bad || NR == 0 }' || fail "the most probable class is not the predicted one"
}

# Each loss learns, and has probabilities: by rows held out, or by five folds.
for loss in square logistic squared-hinge; do
    run train -q $common --loss $loss -o held.kerbin train.libsvm
    run predict -q --output probability -o p.csv held.kerbin test.libsvm
    expect_status 0
    expect_probabilities p.csv "0,1" 500
    run predict -q -o labels.txt held.kerbin test.libsvm
    expect_most_probable p.csv labels.txt
    run train -q --json $common --loss $loss --holdout off -o $loss.kerbin train.libsvm
    expect_status 0
    [ "$(json loss) $(json converged)" = "$loss true" ] || fail "loss or converged"
    expect_at_least "train_score of $loss" "$(json train_score)" 0.9
    run train -q $common --loss $loss --probability on -o $loss.on.kerbin train.libsvm
    expect_status 0
    run predict -q --json --output probability -o p.csv $loss.on.kerbin test.libsvm
    expect_status 0
    for key in accuracy balanced_accuracy auc; do
        expect_at_least "$key of $loss" "$(json $key)" 0.9
    done
    [ -n "$(json log_loss)" ] || fail "no log_loss of $loss"
    expect_at_least "minus log_loss of $loss" "-$(json log_loss)" -0.4
    expect_probabilities p.csv "0,1" 500
    run predict -q -o labels.txt $loss.on.kerbin test.libsvm
    expect_most_probable p.csv labels.txt
done
cmp -s square.kerbin logistic.kerbin && fail "two losses, one model"
run predict -q --output probability -o p.csv logistic.kerbin test.libsvm
expect_status 0
expect_probabilities p.csv "0,1" 500

# Without probabilities: no number, one line, no file.
for loss in square squared-hinge; do
    run predict -q --json $loss.kerbin test.libsvm
    [ -z "$(json log_loss)" ] || fail "a log_loss without probabilities"
    expect_at_least auc "$(json auc)" 0.9
    fails_with 2 '^kerbin: the model gives no probabilities: train it with --holdout auto' \
        predict --output probability -o none.csv $loss.kerbin test.libsvm
    expect_no_file none.csv
done
run train -q $common --loss logistic --probability off -o off.kerbin train.libsvm
expect_status 0
fails_with 2 '^kerbin: the model gives no probabilities' \
    predict --output probability -o none.csv off.kerbin test.libsvm
fails_with 2 '^kerbin: the model gives no probabilities' \
    predict --json --output probability off.kerbin test.libsvm

# Several classes with names.
awk 'BEGIN { srand(3); print "a,b,what"; 
    for (i = 0; i < 900; i++) { a = rand(); b = rand()
        k = a + b < 0.7 ? "ape" : a + b < 1.3 ? "bee" : "cow"; print a "," b "," k } }' > words.csv
for how in "logistic ovr" "logistic softmax" "squared-hinge ovr"; do
    set -- $how
    run train -q --sigma 1 --loss "$1" --multiclass "$2" --probability on -o words.kerbin words.csv
    expect_status 0
    run predict -q --output probability -o p.csv words.kerbin words.csv
    expect_probabilities p.csv "ape,bee,cow" 900
    run predict -q --json -o labels.txt words.kerbin words.csv
    expect_at_least "accuracy of $how" "$(json accuracy)" 0.9
    expect_at_least "auc of $how" "$(json auc)" 0.95
    expect_most_probable p.csv labels.txt
done

# Weights: a file or a column, which say the same.
awk 'NR % 2 { print 3; next } { print 0.5 }' train.libsvm > weights
for loss in square logistic; do
    run train -q --json $common --loss $loss --weights weights -o w.kerbin train.libsvm
    expect_status 0
    weighted=$(json objective)
    run train -q --json $common --loss $loss -o w.kerbin train.libsvm
    [ "$weighted" != "$(json objective)" ] || fail "the weights change nothing"
done
awk -F, 'NR == 1 { print $0 ",count"; next } { print $0 "," (NR % 3) + 1 }' words.csv > counted.csv
awk 'NR > 1 { print (NR % 3) + 1 }' words.csv > counts
run train -q --json --sigma 1 --label what --weights column:count -o column.kerbin counted.csv
expect_status 0
objective=$(json objective)
[ "$(json features)" = 2 ] || fail "the weights are a feature"
run train -q --json --sigma 1 --label what --weights counts -o file.kerbin words.csv
expect_status 0
[ "$(json objective)" = "$objective" ] || fail "column and file of weights differ"
run predict -q --json --weights counts file.kerbin words.csv
expect_status 0
head -n 5 weights > short
fails_with 1 '^kerbin: .*short' train -q --weights short train.libsvm
expect_no_file train.kerbin

# Class weights.  A class that counts more is predicted more often.
for loss in square logistic; do
    printf '0 1\n1 20\n' > classes
    run train -q --loss $loss --class-weight classes --sigma 2 --grids 16 -o many.kerbin train.libsvm
    expect_status 0
    run predict -q -o many.txt many.kerbin test.libsvm
    run train -q --loss $loss --sigma 2 --grids 16 -o few.kerbin train.libsvm
    run predict -q -o few.txt few.kerbin test.libsvm
    [ "$(grep -c '^1$' many.txt)" -gt "$(grep -c '^1$' few.txt)" ] || fail "class weights change nothing"
done
awk '$1 == 0 || NR % 10 == 0' train.libsvm > rare.libsvm
run train -q --json --loss logistic --sigma 2 --grids 16 -o rare.kerbin rare.libsvm
run predict -q --json rare.kerbin test.libsvm
plain=$(json balanced_accuracy)
run train -q --json --loss logistic --sigma 2 --grids 16 --class-weight balanced -o rare.kerbin rare.libsvm
expect_status 0
run predict -q --json rare.kerbin test.libsvm
awk -v a="$(json balanced_accuracy)" -v b="$plain" 'BEGIN { exit !(a > b) }' ||
    fail "balanced classes are no better: $(json balanced_accuracy), $plain"
printf '2 1\n' > classes
fails_with 1 "^kerbin: classes:1: no sample has the label '2'" train -q --class-weight classes train.libsvm

# What contradicts itself.
awk 'BEGIN { for (i = 0; i < 300; i++) print i / 300 "," sin(i / 50) + 2 }' > r.csv
fails_with 2 '^kerbin: --loss logistic: is for classification' train -q --loss logistic r.csv
fails_with 2 '^kerbin: --solver cg: does not solve --loss logistic' \
    train -q --loss logistic --solver cg train.libsvm
fails_with 2 '^kerbin: --solver newton: does not solve --loss square' \
    train -q --solver newton train.libsvm
fails_with 2 '^kerbin: --multiclass softmax: needs --loss logistic' train -q --multiclass softmax train.libsvm
fails_with 2 '^kerbin: --loss hinge: must be one of' train -q --loss hinge train.libsvm
fails_with 2 '^kerbin: --output odds: must be one of label.*decision.*probability' \
    predict --output odds square.kerbin test.libsvm

# Quantiles, medians and counts.  y = x, with noise of -log(u) upwards; counts of mean exp(2 x).
awk 'BEGIN { srand(3); for (i = 0; i < 1200; i++) { x = rand(); e = -log(1 - rand());
    k = 0; p = rand(); limit = exp(-exp(2 * x)); while (p > limit && k < 50) { k++; p *= rand() }
    print x "," x + e > "q.csv"; print x "," k > "k.csv"; print x "," 100 + 1000 * (x + e) > "u.csv" } }'
numbers="--sigma 1 --grids 64 --lambda 3 --task regression"
for q in 0.1 0.9; do
    run train -q $numbers --loss quantile --quantile $q -o q$q.kerbin q.csv
    expect_status 0
    run predict -o q$q.txt q$q.kerbin q.csv
    expect_stdout '^pinball 0\.[0-9]+ on 1200 rows, rmse '
    below=$(paste -d, q$q.txt q.csv | awk -F, '$3 <= $1 { n++ } END { print n / NR }')
    awk -v a="$below" -v q=$q 'BEGIN { exit !(a > q - 0.05 && a < q + 0.05) }' || fail "$below below $q"
done
paste -d, q0.1.txt q0.9.txt | awk -F, '!($1 < $2) { bad++ } END { exit bad > 0 }' || fail "quantiles cross"
run inspect --json q0.9.kerbin
[ "$(json quantile)" = 0.9 ] || fail "the quantile of the model is $(json quantile)"
fails_with 2 '^kerbin: a quantile has no intervals: train a model for either end, with --quantile$' \
    predict --output interval q0.9.kerbin q.csv
# Another unit of the labels, and any number of threads.
run train -q $numbers --loss quantile --quantile 0.9 -o u.kerbin u.csv
run predict -o u.txt u.kerbin u.csv
paste -d, q0.9.txt u.txt | awk -F, '{ d = (100 + 1000 * $1 - $2) / 1000; if (d * d > 1e-4) bad++ } END { exit bad > 0 }' ||
    fail "the unit of the labels changes the quantiles"
for loss in quantile absolute poisson; do
    file=$([ $loss = poisson ] && echo k.csv || echo q.csv)
    for t in 1 3; do
        run train -q $numbers --threads $t --loss $loss -o $loss$t.kerbin $file
        expect_status 0
    done
    expect_same ${loss}1.kerbin ${loss}3.kerbin
done
# A prediction of poisson is exp of the decision, its intervals begin at 0, and its mean is right.
run predict --output decision -o decision.txt poisson1.kerbin k.csv
run predict -o mean.txt poisson1.kerbin k.csv
expect_stdout '^poisson deviance [01]\.[0-9]+ on 1200 rows, rmse '
paste -d, decision.txt mean.txt | awk -F, '{ d = exp($1) / $2 - 1; if (d * d > 1e-16) bad++ } END { exit bad > 0 }' ||
    fail "the mean is not exp of the decision"
paste -d, mean.txt k.csv | awk -F, '{ m += $1; y += $3 } END { exit !(m / y > 0.97 && m / y < 1.03) }' ||
    fail "the mean of the predictions is not that of the counts"
run predict --output interval -o interval.txt poisson1.kerbin k.csv
tail -n +2 interval.txt | awk -F, '$2 < 0 { bad++ } END { exit bad > 0 || NR == 0 }' || fail "intervals of counts below 0"
# Few counts are no classes; tuning works.
run train -q --loss poisson -o tuned.kerbin k.csv
expect_status 0
run predict -o tuned.txt tuned.kerbin k.csv
expect_stdout '^poisson deviance [01]\.[0-9]+ on 1200 rows, rmse '
sed '7s/,.*/,-2/' k.csv > negative.csv
fails_with 1 '^kerbin: --loss poisson: needs labels of 0 or more, and row 7 has -2$' \
    train -q --loss poisson negative.csv
fails_with 2 '^kerbin: --loss quantile: is for regression' train -q --loss quantile --task classification train.libsvm
fails_with 2 '^kerbin: --loss absolute: needs --penalty l2' train -q --loss absolute --penalty l1 q.csv
fails_with 2 '^kerbin: --metric pinball: needs --loss quantile' train -q --metric pinball q.csv
fails_with 2 '^kerbin: --quantile 1: must be' train -q --loss quantile --quantile 1 q.csv
end
