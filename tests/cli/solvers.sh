#!/bin/bash
# --solver sweeps from the command line, beside cg.
. "$(dirname "$0")/lib.sh"
make_data
"$KERBIN" generate friedman --rows 1500 --noise 0.2 --seed 1 -o curve.csv || fail "generate"
awk -F, 'BEGIN { OFS = "," } { print NR == 1 ? "w" : 1 + NR % 3, $0 }' curve.csv > weighed.csv

# near WHAT VALUE OTHER SHARE - the same but for a share of it.
near() {
    awk -v a="$2" -v b="$3" -v s="$4" 'BEGIN { d = a - b; exit !(a != "" && d * d <= (s * b) ^ 2) }' ||
        fail "$1 is $2, not $3"
}

# At a tight tolerance both have the minimum, whatever the targets, weights and intercept are.
minimum() {
    run train -q --json --tol 1e-6 --solver cg -o cg.kerbin "$@"
    local least
    least=$(json objective)
    run train -q --json --tol 1e-6 --solver sweeps -o sweeps.kerbin "$@"
    expect_status 0
    [ "$(json solver)" = sweeps ] || fail "the solver is $(json solver)"
    [ "$(json converged)" = true ] || fail "not converged"
    [ "$(json steps)" -ge 1 ] || fail "$(json steps) steps"
    near "the objective of $*" "$(json objective)" "$least" 1e-7
}
minimum --grids 64 train.libsvm
minimum --grids 50 --lambda 3 --intercept off curve.csv
minimum --grids 50 --lambda 0.01 --intercept mean curve.csv
minimum --grids 33 --weights column:w weighed.csv

# A model by sweeps is a model: its file holds weights, and predicts the same with any threads.
run predict -q --json sweeps.kerbin weighed.csv
expect_status 0
expect_at_least "r2" "$(json r2)" 0.9
for threads in 1 3; do
    run train -q --solver sweeps --threads $threads -o by$threads.kerbin train.libsvm
    expect_status 0
done
expect_same by1.kerbin by3.kerbin
run inspect by1.kerbin
expect_stdout '^solver +sweeps, '

# Too few steps are told.
run train -q --json --solver sweeps --max-iter 2 --tol 1e-6 -o few.kerbin train.libsvm
expect_status 0
expect_stderr_line 'not converged after 2 steps'
[ "$(json steps)" = 2 ] || fail "$(json steps) steps instead of 2"

# What it does not solve.
needs='^kerbin: --solver sweeps: needs --map binning$'
for map in fourier nystrom blocks exact; do
    fails_with 2 "$needs" train -q --solver sweeps --map $map -o no.kerbin curve.csv
done
for loss in logistic squared-hinge; do
    run train -q --json --solver sweeps --loss $loss -o margin.kerbin train.libsvm
    expect_status 0
    [ "$(json solver)" = sweeps ] || fail "the solver is $(json solver)"
done
fails_with 2 '^kerbin: --solver sweeps: does not solve --penalty l1$' \
    train -q --solver sweeps --penalty l1 -o no.kerbin curve.csv
expect_no_file no.kerbin

# With tuning, a solver that is asked for is kept, for classes too.
TUNE=on
for solver in cg sweeps; do
    run train -q --json --solver $solver -o tuned.kerbin train.libsvm
    expect_status 0
    grep -q "^  \"solver\": \"$solver\"" stdout || fail "another solver than $solver"
done

end
