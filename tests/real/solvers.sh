#!/bin/bash
# Conjugate gradients and GMRES find the same model.
. "$(dirname "$0")/lib.sh"
find_data pendigits.train pendigits.test cadata.libsvm
grids=64
accuracy=()
error=()
light && grids=16

# compare TOL BOUND NAME TRAIN TEST OPTION.. - the largest difference of a decision, over
# the largest decision, is at most BOUND.
compare() {
    local tol=$1 bound=$2 name=$3 train=$4 test=$5 solver differ
    shift 5
    for solver in cg gmres; do
        run train --json -q --solver $solver --tol "$tol" --max-iter 5000 --grids $grids \
            -o $solver.kerbin "$@" "$train"
        expect_status 0
        [ "$(json converged)" = true ] || fail "$solver has not converged"
        echo "$name, tol $tol, $solver: $(json steps) steps, objective $(json objective)"
        run predict -q --output decision -o $solver.txt $solver.kerbin "$test"
        expect_status 0
    done
    differ=$(difference "$(text "$test" | wc -l)" cg.txt gmres.txt)
    echo "$name, tol $tol: they differ by $differ"
    expect_at_most "difference of the decisions" "$differ" "$bound"
}

rows=16512
light && rows=3000
split $rows "$cadata_libsvm" train.libsvm test.libsvm
# The weights are kept as floats, hence no closer than 1e-6.
compare 1e-10 1e-6 pendigits "$pendigits_train" "$pendigits_test" --sigma 2 --lambda 0.1
compare 1e-10 1e-6 cadata train.libsvm test.libsvm --sigma 0.5 --lambda 0.3

# At the default tolerance GMRES, whose residual is the least of its space, stops earlier; the
# score hardly notices.
for solver in cg gmres; do
    accuracy+=("$(measure accuracy m.kerbin "$pendigits_train" "$pendigits_test" \
        --solver $solver --grids $grids --sigma 2 --lambda 0.1)")
    error+=("$(measure relative_error m.kerbin train.libsvm test.libsvm \
        --solver $solver --grids $grids --sigma 0.5 --lambda 0.3)")
done
echo "pendigits, accuracy: ${accuracy[*]}; cadata, relative error: ${error[*]}"
expect_at_least "accuracy of GMRES" "${accuracy[1]}" "$(awk "BEGIN { print ${accuracy[0]} - 0.005 }")"
expect_at_most "error of GMRES" "${error[1]}" "$(awk "BEGIN { print 1.02 * ${error[0]} }")"
end
