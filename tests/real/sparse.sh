#!/bin/bash
# The objectives that train reports with the L1 penalty are those that LIBLINEAR finds on the same
# Z, and a model selected on validation rows is much smaller than that of the L2 penalty.
. "$(dirname "$0")/lib.sh"
find_data ijcnn1.train cod-rna.train cadata.libsvm
if ! command -v liblinear-train > /dev/null; then
    echo "skipped: no liblinear-train (Debian package liblinear-tools)"
    exit 77
fi
rows=3000
grids=64
lambdas="0.1 1 10"
if light; then
    rows=500
    grids=16
    lambdas="1 10"
fi

# some FILE - about that many rows from all over the file.
some() {
    text "$1" | awk -v rows="$rows" '
        { line[NR] = $0 }
        END { for (i = 1; i <= NR; i += NR > rows ? NR / rows : 1) print line[int(i)] }'
}

# objective LOSS LAMBDA Z MODEL - lambda |w|_1 + the losses, for the w of LIBLINEAR, which is
# positive for the first label of its list.
objective() {
    awk -v loss="$1" -v lambda="$2" '
        NR == FNR && $1 == "label" { first = $2 }
        NR == FNR { if (inside) { w[++n] = $1; sum += lambda * ($1 < 0 ? -$1 : $1) }
                    if ($1 == "w") inside = 1; next }
        { z = 0
          for (j = 2; j <= NF; j++) { split($j, e, ":"); z += e[2] * w[e[1]] }
          m = $1 + 0 == first + 0 ? z : -z
          if (loss == "logistic") sum += m > 0 ? log(1 + exp(-m)) : log(1 + exp(m)) - m
          else if (m < 1) sum += (1 - m) * (1 - m) }
        END { printf "%.15g\n", sum }' "$4" "$3"
}

# off A B - how far they are apart, over B.
off() {
    awk -v a="$1" -v b="$2" 'BEGIN { print (a > b ? a - b : b - a) / b }'
}

# fit OPTION.. - trains to a small gap; $(json objective) is then within 1e-6 of the least.
fit() {
    run train -q --json --penalty l1 --grids $grids --intercept off --tol 1e-6 --max-iter 100000 \
        -o m.kerbin "$@"
    expect_status 0
    [ "$(json converged)" = true ] || fail "not converged"
    expect_at_most "gap over objective" "$(awk "BEGIN { print $(json gap) / $(json objective) }")" 1e-6
}

# compare NAME DATA SIGMA
compare() {
    local name=$1 data=$2 sigma=$3 solver loss lambda mine theirs
    run features -q --grids $grids --sigma "$sigma" -o z.libsvm "$data"
    expect_status 0
    for loss in logistic squared-hinge; do
        solver=6
        [ $loss = logistic ] || solver=5
        for lambda in $lambdas; do
            fit --sigma "$sigma" --loss $loss --lambda "$lambda" "$data"
            mine=$(json objective)
            liblinear-train -s $solver -c "$(awk "BEGIN { print 1 / $lambda }")" -e 1e-5 \
                z.libsvm theirs > log
            theirs=$(objective $loss "$lambda" z.libsvm theirs)
            echo "$name, $loss, lambda $lambda: $mine and $theirs, off by $(off "$mine" "$theirs");" \
                "$(json kept_bins) of $(json bins) bins"
            if grep -q 'reaching max number' log; then # it is not there yet: ours must be less
                expect_at_most "objective over that of LIBLINEAR" \
                    "$(awk "BEGIN { print $mine / $theirs }")" 1.00001
            else
                expect_at_most "difference to LIBLINEAR" "$(off "$mine" "$theirs")" 1e-5
            fi
        done
    done
}

# The square loss: two solvers, each with its own bound.  Drawing columns at random takes too long
# for the smallest lambda; there the bound must do.
agree() {
    local name=$1 data=$2 sigma=$3 lambda mine
    for lambda in $lambdas; do
        fit --sigma "$sigma" --lambda "$lambda" "$data"
        mine=$(json objective)
        [ "$lambda" != 0.1 ] || continue
        fit --sigma "$sigma" --lambda "$lambda" --solver cd "$data"
        echo "$name, square, lambda $lambda: $mine and $(json objective) by cd," \
            "off by $(off "$mine" "$(json objective)")"
        expect_at_most "difference of grid-cd and cd" "$(off "$mine" "$(json objective)")" 2e-6
    done
}

some "$ijcnn1_train" > ijcnn1
some "$cod_rna_train" > cod_rna
some "$cadata_libsvm" | awk '{ $1 /= 1e5; print }' > cadata
compare ijcnn1 ijcnn1 0.5
compare cod-rna cod_rna 0.25
agree cadata cadata 0.5

# The largest lambda within one standard error of the best validation score.
times=5
loss=0.01
if light; then
    some "$ijcnn1_train" > all.libsvm
    times=2
    loss=0.1
else
    text "$ijcnn1_train" > all.libsvm
fi
split $(($(wc -l < all.libsvm) * 4 / 5)) all.libsvm train.libsvm valid.libsvm
run train -q --json --grids $grids --sigma 0.5 --lambda 0.1 --valid valid.libsvm -o l2.kerbin train.libsvm
expect_status 0
whole=$(json accuracy)
run train -q --json --grids $grids --sigma 0.5 --penalty l1 --lambda 0.1 --lambda-path 30 \
    --valid valid.libsvm -o l1.kerbin train.libsvm
expect_status 0
kept=$(sed -n '/^  "valid"/,/}/s/.*"accuracy": \([^,]*\),/\1/p' stdout)
times_smaller=$(awk "BEGIN { print $(stat -c %s l2.kerbin) / $(stat -c %s l1.kerbin) }")
echo "ijcnn1, lambda $(sed -n 's/^  "lambda": \([^,]*\),/\1/p' stdout) of the path:" \
    "valid accuracy $kept (L2: $whole); the file is $times_smaller times smaller"
expect_at_least "how much smaller the file is" "$times_smaller" $times
expect_at_least "valid accuracy" "$kept" "$(awk "BEGIN { print $whole - $loss }")"
end
