#!/bin/bash
# Rival maps on real data: a direct solution and conjugate gradients find the same decisions, the
# largest ranks give the kernel itself, and less memory changes nothing.
. "$(dirname "$0")/lib.sh"
find_data cpusmall.libsvm
rows=1500
light && rows=400
split $rows "$cpusmall_libsvm" train.libsvm rest.libsvm
head -n 1000 rest.libsvm > test.libsvm
common="--scale minmax --sigma 2 --lambda 0.1 --tol 1e-12 --max-iter 20000"

# decide NAME OPTION.. - trains, and writes the decisions of the test rows to NAME.txt.
decide() {
    local name=$1
    shift
    run train -q --json $common -o "$name.kerbin" "$@" train.libsvm
    expect_status 0
    [ "$(json converged)" = true ] || fail "$name has not converged"
    echo "$name: $(json steps) steps, objective $(json objective)"
    run predict -q --output decision -o "$name.txt" "$name.kerbin" test.libsvm
    expect_status 0
}

# agree BOUND A B
agree() {
    local differ
    differ=$(difference 1000 "$2.txt" "$3.txt")
    echo "$2 and $3 differ by $differ"
    expect_at_most "difference of $2 and $3" "$differ" "$1"
}

for kernel in laplace gauss; do
    for intercept in on off; do
        options="--map exact --kernel $kernel --intercept $intercept"
        decide cholesky $options --solver cholesky
        decide cg $options --solver cg
        agree 1e-8 cholesky cg # tol times the condition
    done
done
decide exact --map exact --solver cholesky
decide block --map blocks --grids $rows --solver cholesky
agree 1e-12 exact block
decide landmarks --map nystrom --grids $rows
agree 1e-6 exact landmarks # L^-1 loses digits

decide cholesky --map blocks --grids 64 --solver cholesky
decide cg --map blocks --grids 64 --solver cg
agree 1e-8 cholesky cg

# A kernel matrix of 1500 rows takes 18 MB.
decide little --map exact --threads 1 --max-memory 12M
agree 1e-8 exact little
end
