#!/bin/bash
# Every size of lambda, sigma and of the numbers in the data: a model that kerbin reads again and
# predicts finite numbers with, or one line that says why not.
. "$(dirname "$0")/../cli/lib.sh"

# model_or_line ARG.. - trains with these arguments.
model_or_line() {
    rm -f out.kerbin
    run train -q -o out.kerbin "$@"
    case $status in
    0)
        run predict -q -o predictions out.kerbin test.csv
        expect_status 0
        expect_no_stderr
        grep -Eqi 'nan|inf|^\.$' predictions && fail "a prediction is no number: $*"
        ;;
    1 | 2)
        expect_stderr_line '^kerbin: '
        expect_no_file out.kerbin
        ;;
    *) fail "status $status: $*" ;;
    esac
}

# must_work - the last training made a model.
must_work() {
    [ -s out.kerbin ] || fail "no model: $command"
}

# rows SCALE SEED - 200 rows of three columns and a label, numbers of about this size.
rows() {
    awk -v scale="$1" -v seed="$2" 'BEGIN {
        srand(seed); print "label,a,b,c"
        for (i = 0; i < 200; i++) {
            a = rand() - 0.5; b = rand() - 0.5; c = rand() - 0.5
            printf "%d,%.15g,%.15g,%.15g\n", (a * b > 0), a * scale, b * scale, c * scale
        }
    }'
}

for scale in 1e-308 1e-150 1e-12 1 1e12 1e150 1e307; do
    rows "$scale" 1 > train.csv
    rows "$scale" 2 > test.csv
    for scaling in standard none minmax maxabs ranks; do
        model_or_line --label label --scale "$scaling" --grids 16 --sigma 1 train.csv
        [ "$scale" != 1 ] || must_work
        model_or_line --label a --scale "$scaling" --grids 16 train.csv
        [ "$scale" != 1 ] || must_work
    done
    TUNE=on
    model_or_line --label label --grids 16 train.csv
    TUNE=off
done

rows 1 1 > train.csv
rows 1 2 > test.csv
for lambda in 1e-12 1e-6 1e6 1e12; do
    for sigma in 1e-6 1e-3 1e3 1e6; do
        common=(--label label --grids 16 --lambda "$lambda" --sigma "$sigma")
        for solver in cg gmres sweeps; do
            model_or_line "${common[@]}" --solver "$solver" train.csv
        done
        for loss in logistic squared-hinge; do
            model_or_line "${common[@]}" --loss "$loss" train.csv
            model_or_line "${common[@]}" --loss "$loss" --penalty l1 train.csv
        done
        for loss in quantile absolute poisson; do
            model_or_line "${common[@]}" --task regression --loss "$loss" train.csv
        done
        for map in fourier nystrom blocks exact; do
            model_or_line "${common[@]}" --map "$map" train.csv
        done
    done
done
end
