#!/bin/bash
# The L1 penalty from the command line: sparse models, paths of lambda, validation rows.
. "$(dirname "$0")/lib.sh"
make_data
"$KERBIN" generate checkers --rows 500 --seed 3 -o valid.libsvm || fail "generate"
common="--sigma 0.2 --grids 64"
sparse="--penalty l1 --lambda 0.5"
objective=()

# top KEY - a number or a word of the object itself, not of one inside it.
top() {
    sed -n "s/^  \"$1\": \"\\{0,1\\}\\([^\",]*\\)\"\\{0,1\\},\\{0,1\\}\$/\\1/p" stdout
}

expect_close() {
    awk -v a="$2" -v b="$3" -v t="$4" 'BEGIN { e = a - b; s = b < 0 ? -b : b
        exit !(a != "" && b != "" && (e < 0 ? -e : e) <= t * s) }' || fail "$1: $2 and $3"
}

# ---- each solver finds the same model, which is small

run train -q --json $common -o l2.kerbin train.libsvm
expect_status 0
[ -z "$(top gap)$(top kept_bins)$(top kept_grids)" ] || fail "an L2 fit with a gap or kept bins"
bins=$(top bins)
for solver in auto grid-cd cd parallel-cd; do
    run train -q --json $common $sparse --solver $solver --max-iter 5000 -o $solver.kerbin train.libsvm
    expect_status 0
    expect_no_stderr
    [ "$(top penalty) $(top converged) $(top bins)" = "l1 true $bins" ] || fail "penalty, converged or bins"
    [ "$(top kept_bins)" = "$(top nonzeros)" ] || fail "one output keeps other bins than those with a weight"
    expect_at_least "bins dropped by $solver" "$((bins - $(top kept_bins)))" $((bins / 2))
    expect_at_least kept_grids "$(top kept_grids)" 1
    expect_at_least "64 - kept_grids" "$((64 - $(top kept_grids)))" 0
    expect_at_least gap "$(top gap)" 0
    awk -v g="$(top gap)" -v f="$(top objective)" 'BEGIN { exit !(g <= 1e-3 * f) }' ||
        fail "the gap $(top gap) is above tol times $(top objective)"
    expect_at_least "train_score of $solver" "$(top train_score)" 0.9
    objective+=("$(top objective)")
    run predict -q --json $solver.kerbin test.libsvm
    expect_at_least "accuracy of $solver" "$(json accuracy)" 0.9
    awk -v a="$(stat -c %s $solver.kerbin)" -v b="$(stat -c %s l2.kerbin)" 'BEGIN { exit !(2 * a < b) }' ||
        fail "the sparse model is not smaller: $(stat -c %s $solver.kerbin), $(stat -c %s l2.kerbin)"
done
for k in 1 2 3; do
    expect_close "objective" "${objective[$k]}" "${objective[0]}" 2e-3
done
expect_same auto.kerbin grid-cd.kerbin

# ---- what is said about it

run train $common $sparse -o text.kerbin train.libsvm
expect_status 0
expect_stdout '^solver    grid-cd, square loss, l1 penalty, lambda 0\.5, intercept off$'
expect_stdout '^solved    in [0-9]+ steps?, converged, duality gap [0-9.e-]+ of the objective$'
expect_stdout "^kept      [0-9]+ of $bins bins and [0-9]+ of 64 grids: [0-9.]+ times fewer bins\$"
grep '^kept' stdout > kept
run inspect text.kerbin
expect_status 0
expect_stdout '^solved .* duality gap '
expect_stdout "^objective .*, [0-9]+ of $bins weights are not zero\$"
[ "$(grep '^kept' stdout)" = "$(cat kept)" ] || fail "inspect says something else of what is kept"
run inspect --json text.kerbin
expect_status 0
[ "$(top bins)" = "$bins" ] || fail "bins"
[ "$(top kept_bins)" = "$(sed -n 's/^kept *\([0-9]*\) of.*/\1/p' kept)" ] || fail "kept_bins of inspect"
[ -n "$(top gap)$(top kept_grids)" ] || fail "no gap or kept_grids"
run inspect l2.kerbin
grep -Eq 'kept|gap' stdout && fail "an L2 model with kept bins"

# The features of a sparse model are those that it keeps, as large as ever.
run features -q --from text.kerbin -o z.libsvm test.libsvm
expect_status 0
awk '{ for (j = 2; j <= NF; j++) {
           split($j, e, ":"); if (e[2] != 0.125) bad = 1; if (e[1] > most) most = e[1]; n++ } }
    END { exit bad || n == 0 || most > '"$(sed -n 's/^kept *\([0-9]*\) of.*/\1/p' kept)"' }' z.libsvm ||
    fail "the features are not 1/sqrt(R) in the kept columns"

# A lambda that leaves nothing.
run train -q --json $common --penalty l1 --lambda 1e6 -o none.kerbin train.libsvm
expect_status 0
[ "$(top nonzeros) $(top kept_bins) $(top kept_grids)" = "0 1 1" ] || fail "nonzeros or what is kept"
run predict -q -o none.txt none.kerbin test.libsvm
expect_status 0
[ "$(sort -u none.txt | wc -l)" -eq 1 ] || fail "no weights, but several labels"

# Whole grids are dropped.
run train -q --json $common --penalty l1 --group-grids --lambda 1 -o group.kerbin train.libsvm
expect_status 0
expect_at_least "grids dropped" "$((64 - $(top kept_grids)))" 8
expect_at_least "train_score" "$(top train_score)" 0.9
[ "$(top kept_bins)" = "$(top nonzeros)" ] || fail "a kept grid with a bin of no weight"

# Regression, several classes, sparse data, probabilities.
awk 'BEGIN { srand(8); for (i = 0; i < 1000; i++) {
    a = rand(); b = rand(); print a "," b "," 5 + a * b } }' > r.csv
run train -q --json --task regression --penalty l1 --lambda 0.01 --sigma 0.5 --valid r.csv -o r.kerbin r.csv
expect_status 0
expect_at_least "r2" "$(json r2)" 0.9
awk 'BEGIN { srand(7); for (i = 0; i < 900; i++) {
    printf "%d", i % 3
    for (j = 1; j <= 20; j++) if (rand() < 0.2) printf " %d:%.3f", j, rand() + i % 3 / 4
    print "" } }' > many.libsvm
run train -q --json --penalty l1 --loss logistic --lambda 1 --scale maxabs --grids 40 -o many.kerbin \
    many.libsvm
expect_status 0
run predict -q --output probability -o p.csv many.kerbin many.libsvm
expect_status 0
[ "$(head -n 1 p.csv)" = "0,1,2" ] || fail "no probabilities of three classes"
run train -q $common $sparse --probability on -o on.kerbin train.libsvm
expect_status 0
run predict -q --output probability -o p.csv on.kerbin test.libsvm
expect_status 0

# ---- paths

path="--penalty l1 --lambda 0.05 --lambda-path 12"
run train -q --json $common $path --valid valid.libsvm -o path.kerbin train.libsvm
expect_status 0
expect_no_stderr
cp stdout path.json
for key in lambda nonzeros objective gap steps converged train_score seconds valid accuracy; do
    count=$(grep -Ec "^ {6,8}\"$key\":" stdout)
    [ "$count" -eq 12 ] || fail "$count times $key in the path, not 12"
done
if command -v python3 > /dev/null; then
    python3 - path.json << 'END' || fail "the path is not what it should be"
import json, sys
fit = json.load(open(sys.argv[1]))
path = fit["path"]
lambdas = [point["lambda"] for point in path]
accuracy = [point["valid"]["accuracy"] for point in path]
assert path[0]["nonzeros"] == 0 and lambdas[-1] == 0.05
assert all(a > b for a, b in zip(lambdas, lambdas[1:]))
assert all(point["gap"] <= 1e-3 * point["objective"] for point in path)
best = max(accuracy)
enough = best - (best * (1 - best) / 500) ** 0.5
chosen = next(k for k, a in enumerate(accuracy) if a >= enough)
assert fit["lambda"] == lambdas[chosen]
assert abs(fit["seconds"]["solve"] - sum(point["seconds"] for point in path)) < 1e-6
for key in ("nonzeros", "objective", "gap", "train_score", "valid"):
    assert fit[key] == path[chosen][key], key
END
fi
run predict -q --json path.kerbin valid.libsvm
[ "$(json accuracy)" = "$(sed -n '/^  "valid"/,/}/s/.*"accuracy": \([^,]*\),/\1/p' path.json)" ] ||
    fail "the model kept is not the one that was scored"

run train $common $path --valid valid.libsvm -o text.kerbin train.libsvm
expect_status 0
expect_same text.kerbin path.kerbin
expect_stdout '^ +lambda +nonzeros +train accuracy +valid accuracy$'
[ "$(grep -Ec '^ +[0-9.e+-]+ +[0-9]+ +[0-9.]+ % +[0-9.]+ %' stdout)" -eq 12 ] || fail "not a line a lambda"
[ "$(grep -c ' best' stdout)" -eq 1 ] && [ "$(grep -c '  kept$' stdout)" -eq 1 ] ||
    fail "not one best and one kept"
[ "$(grep -n ' best' stdout | cut -d: -f1)" -ge "$(grep -n '  kept$' stdout | cut -d: -f1)" ] ||
    fail "the kept lambda is below the best"
expect_stdout '^valid     accuracy [0-9.]+ % of 500 rows'

# Without validation rows the last lambda is kept.
run train -q --json $common $path -o last.kerbin train.libsvm
expect_status 0
[ "$(top lambda)" = 0.05 ] || fail "not the last lambda"
grep -q '"valid"' stdout && fail "a score without validation rows"
run train $common $path -o last.kerbin train.libsvm
grep -q ' best' stdout && fail "a best without validation rows"
tail -n +13 stdout | head -n 1 | grep -Eq '^ +0\.05 .*  kept$' ||
    fail "the last line is not the one that is kept"

# Of numbers.
run train --task regression --penalty l1 --lambda 0.02 --lambda-path 8 --sigma 0.5 --grids 32 \
    --valid r.csv r.csv
expect_status 0
expect_stdout '^ +lambda +nonzeros +train r2 +valid rmse$'
expect_stdout '^valid     rmse '
[ "$(grep -c ' best' stdout)" -eq 1 ] || fail "no best"

# ---- validation rows

run train -q --json $common --valid test.libsvm -o l2.kerbin train.libsvm
expect_status 0
scored=$(json accuracy)
run predict -q --json l2.kerbin test.libsvm
[ -n "$scored" ] && [ "$(json accuracy)" = "$scored" ] || fail "valid says $scored, predict $(json accuracy)"
run train $common --valid test.libsvm -o l2.kerbin train.libsvm
expect_stdout '^valid     accuracy [0-9.]+ % of 500 rows, balanced '
awk 'BEGIN { print "a,b"; for (i = 0; i < 5; i++) print i / 5 "," 1 - i / 5 }' > unlabelled.csv
sed '1s/^/a,b,y\n/' r.csv > named.csv
for more in "" "--penalty l1" "--penalty l1 --lambda-path 3"; do
    fails_with 1 '^kerbin: unlabelled\.csv: has no labels to score against$' \
        train -q --task regression $more --valid unlabelled.csv -o bad.kerbin named.csv
    expect_no_file bad.kerbin
    fails_with 1 '^kerbin: nowhere\.libsvm: ' \
        train -q $common $more --valid nowhere.libsvm -o bad.kerbin train.libsvm
    expect_no_file bad.kerbin
done

# The output must not be one of the inputs.
cp valid.libsvm precious
fails_with 2 '^kerbin: precious: would be overwritten by the output$' \
    train -q --valid precious -o precious train.libsvm
expect_same precious valid.libsvm

# A file of weights is for the training rows, a column is there for both.
awk '{ print 1 + NR % 3 }' train.libsvm > weights
for more in "" "--penalty l1" "--penalty l1 --lambda-path 3"; do
    run train -q --json $common $more --weights weights --valid valid.libsvm -o w.kerbin train.libsvm
    expect_status 0
    scored=$(sed -n '/^  "valid"/,/}/s/.*"accuracy": \([^,]*\),/\1/p' stdout)
    run predict -q --json w.kerbin valid.libsvm
    [ -n "$scored" ] && [ "$(json accuracy)" = "$scored" ] ||
        fail "valid says $scored, predict $(json accuracy)"
done
awk 'BEGIN { srand(9); print "a,b,n,y"; for (i = 0; i < 400; i++) {
    a = rand(); b = rand(); print a "," b "," i % 3 "," a * b + rand() } }' > n.csv
run train -q --json --label y --weights column:n --task regression --valid n.csv -o n.kerbin n.csv
expect_status 0
scored=$(json rmse)
run predict -q --json --label y --weights column:n n.kerbin n.csv
[ -n "$scored" ] && [ "$(json rmse)" = "$scored" ] || fail "valid says $scored, predict $(json rmse)"

# Nothing to fit: no gap, of nothing.
awk 'BEGIN { for (i = 0; i < 50; i++) print i / 50 ",2.5" }' > constant.csv
run train --task regression --penalty l1 constant.csv
expect_status 0
expect_stdout '^solved    in 0 steps, converged, duality gap 0 of the objective$'

# ---- the same bytes for any number of threads

for threads in 1 2 5; do
    run train -q --threads $threads $common $sparse -o one.$threads train.libsvm
    expect_status 0
    run train -q --threads $threads $common $path --loss logistic --lambda-path 5 --lambda 0.5 \
        --valid valid.libsvm -o path.$threads train.libsvm
    expect_status 0
    run train -q --threads $threads --penalty l1 --loss squared-hinge --scale maxabs --grids 40 \
        -o many.$threads many.libsvm
    expect_status 0
    run predict -q --threads $threads --output decision -o decision.$threads one.1 test.libsvm
    expect_status 0
done
for threads in 2 5; do
    for name in one path many decision; do
        expect_same $name.1 $name.$threads
    done
done

# ---- what contradicts itself

bad() {
    local pattern=$1
    shift
    fails_with 2 "$pattern" train -q -o bad.kerbin "$@" train.libsvm
    expect_no_file bad.kerbin
}
for solver in cg gmres newton; do
    bad "^kerbin: --solver $solver: does not solve --penalty l1\$" --penalty l1 --solver $solver
done
for solver in grid-cd cd parallel-cd; do
    bad "^kerbin: --solver $solver: does not solve --penalty l2\$" --solver $solver
done
bad '^kerbin: --group-grids: needs --penalty l1$' --group-grids
bad '^kerbin: --group-grids: needs --solver grid-cd$' --penalty l1 --group-grids --solver cd
bad '^kerbin: --lambda-path: needs --penalty l1$' --lambda-path 5
bad '^kerbin: --lambda-path -1: must be a whole number from 0 to 10000$' --penalty l1 --lambda-path -1
bad '^kerbin: --probability on: not along a --lambda-path; ' --penalty l1 --lambda-path 5 --probability on
bad '^kerbin: --multiclass softmax: needs --penalty l2$' --penalty l1 --loss logistic --multiclass softmax
bad '^kerbin: --penalty l3: must be one of l2, l1$' --penalty l3
fails_with 2 '^kerbin: --valid needs a value: FILE$' train -q train.libsvm --valid
fails_with 2 '^kerbin: predict takes no --penalty; ' predict --penalty l1 l2.kerbin test.libsvm
fails_with 2 '^kerbin: predict takes no --valid; ' predict --valid test.libsvm l2.kerbin test.libsvm

# Too few passes: a model all the same, with a warning.
run train $common --penalty l1 --lambda 0.01 --tol 1e-9 --max-iter 2 -o few.kerbin train.libsvm
expect_status 0
expect_stderr '^kerbin: warning: not converged after 2 steps'
expect_stdout '^solved    in 2 steps, not converged, duality gap '
expect_file few.kerbin
end
