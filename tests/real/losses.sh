#!/bin/bash
# The objectives that train reports for the logistic and the squared hinge loss are those that
# LIBLINEAR finds on the same Z, and calibrated probabilities are what they say.
. "$(dirname "$0")/lib.sh"
find_data ijcnn1.train cod-rna.train cod-rna.test pendigits.train
if ! command -v liblinear-train > /dev/null; then
    echo "skipped: no liblinear-train (Debian package liblinear-tools)"
    exit 77
fi
rows=3000
grids=64
if light; then
    rows=500
    grids=16
fi

# some FILE - about that many rows from all over the file.
some() {
    text "$1" | awk -v rows="$rows" '
        { line[NR] = $0 }
        END { for (i = 1; i <= NR; i += NR > rows ? NR / rows : 1) print line[int(i)] }'
}

# objective LOSS LAMBDA Z MODEL - lambda/2 |w|^2 + the losses, for the w of LIBLINEAR, which is
# positive for the first label of its list.
objective() {
    awk -v loss="$1" -v lambda="$2" '
        NR == FNR && $1 == "label" { first = $2 }
        NR == FNR { if (inside) { w[++n] = $1; sum += lambda / 2 * $1 * $1 }
                    if ($1 == "w") inside = 1; next }
        { z = 0
          for (j = 2; j <= NF; j++) { split($j, e, ":"); z += e[2] * w[e[1]] }
          m = $1 + 0 == first + 0 ? z : -z
          if (loss == "logistic") sum += m > 0 ? log(1 + exp(-m)) : log(1 + exp(m)) - m
          else if (m < 1) sum += (1 - m) * (1 - m) }
        END { printf "%.15g\n", sum }' "$4" "$3"
}

# compare NAME DATA SIGMA
compare() {
    local name=$1 data=$2 sigma=$3 solver loss lambda mine theirs off
    run features -q --grids $grids --sigma "$sigma" -o z.libsvm "$data"
    expect_status 0
    for loss in logistic squared-hinge; do
        solver=0
        [ $loss = logistic ] || solver=2
        for lambda in 0.1 1 10; do
            run train -q --json --grids $grids --sigma "$sigma" --intercept off --loss $loss \
                --lambda $lambda --tol 1e-8 --max-iter 20000 -o m.kerbin "$data"
            expect_status 0
            [ "$(json converged)" = true ] || fail "not converged"
            mine=$(json objective)
            liblinear-train -s $solver -c "$(awk "BEGIN { print 1 / $lambda }")" -e 1e-8 -q \
                z.libsvm theirs > /dev/null
            theirs=$(objective $loss $lambda z.libsvm theirs)
            off=$(awk -v a="$mine" -v b="$theirs" 'BEGIN { print (a > b ? a - b : b - a) / b }')
            echo "$name, $loss, lambda $lambda: $mine and $theirs, off by $off"
            expect_at_most "difference to LIBLINEAR" "$off" 1e-6
        done
    done
}

some "$ijcnn1_train" > ijcnn1
some "$cod_rna_train" > cod_rna
some "$pendigits_train" | awk '{ $1 = $1 % 2 ? 1 : -1; print }' > odd_even
compare ijcnn1 ijcnn1 0.5
compare cod-rna cod_rna 0.25
compare "pendigits, odd or even" odd_even 2

# calibration_error P.CSV DATA - over 15 bins of the probability p of the class 1: the mean
# distance between p and the share of that class, weighted by the rows of a bin.
calibration_error() {
    tail -n +2 "$1" | cut -d, -f2 | paste -d' ' - <(text "$2" | cut -d' ' -f1) | awk '
        { b = int($1 * 15); if (b > 14) b = 14; n[b]++; p[b] += $1; y[b] += $2 > 0 }
        END { for (b in n) { e = p[b] - y[b]; sum += e < 0 ? -e : e }; print sum / NR }'
}

# The same for the predicted class and its own probability.
top_calibration_error() {
    tail -n +2 "$1" | cut -d, -f2 | paste -d' ' - <(text "$2" | cut -d' ' -f1) | awk '
        { p = $1; y = $2 > 0; if (p < 0.5) { p = 1 - p; y = !y }
          b = int(p * 15); if (b > 14) b = 14; n[b]++; sums[b] += p - y }
        END { for (b in n) { e = sums[b]; sum += e < 0 ? -e : e }; print sum / NR }'
}

bar=0.02
if light; then
    text "$cod_rna_train" | awk 'NR % 20 == 0' > train.libsvm
    bar=0.1
else
    text "$cod_rna_train" > train.libsvm
fi
for loss in square squared-hinge; do
    run train -q --loss $loss --probability on --grids $grids --sigma 0.25 --lambda 1 -o m.kerbin train.libsvm
    expect_status 0
    run predict -q --json --output probability -o p.csv m.kerbin "$cod_rna_test"
    expect_status 0
    [ "$(head -n 1 p.csv)" = "-1,1" ] || fail "the header is $(head -n 1 p.csv)"
    one=$(calibration_error p.csv "$cod_rna_test")
    top=$(top_calibration_error p.csv "$cod_rna_test")
    echo "cod-rna, $loss: calibration error $one of the class 1, $top of the predicted one;" \
        "accuracy $(json accuracy), log loss $(json log_loss)"
    expect_at_most "calibration error" "$one" $bar
    expect_at_most "calibration error of the predicted class" "$top" $bar
done
end
