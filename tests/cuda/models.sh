#!/bin/bash
# --device cuda from the command line: the models have the bytes of --device cpu.  KERBIN_CUDA_MODULE is
# the module to be tested; the test is skipped if that finds no GPU.
. "$(dirname "$0")/../cli/lib.sh"

run generate friedman --rows 600 --noise 0.3 --seed 2 -o curve.csv
run generate rings --rows 900 --noise 0.1 --seed 3 -o rings.csv
awk -F, 'BEGIN { OFS = "," } { print NR == 1 ? "w" : NR % 4, $0 }' curve.csv > weighed.csv
awk -F, 'BEGIN { OFS = "," } { if (NR > 1) $NF = substr("abcd", 1 + int($1 * 3.99), 1); print }' \
    curve.csv > classes.csv

run train -q --device cuda --solver sweeps --grids 4 -o none.kerbin curve.csv
if [ "$status" -ne 0 ] && grep -q 'no GPU can be used' stderr; then
    echo "skipped: $(cat stderr)"
    exit 77
fi
expect_status 0

# same ARG.. - both devices, and one thread or more.
same() {
    run train -q --threads 2 --device cpu -o cpu.kerbin "$@"
    expect_status 0
    run train -q --threads 1 --device cuda -o cuda.kerbin "$@"
    expect_status 0
    cmp -s cpu.kerbin cuda.kerbin || fail "the models differ: $*"
}
same --solver sweeps --early-stop on --grids 40 curve.csv
same --solver sweeps --tol 1e-5 --grids 33 --lambda 0.01 curve.csv
same --solver sweeps --early-stop on --grids 40 --intercept on --weights column:w weighed.csv
same --solver sweeps --early-stop on --grids 35 --sigma 0.1 rings.csv
same --solver sweeps --early-stop on --grids 20 --intercept mean classes.csv
same --solver sweeps --early-stop on --grids 20 --scale ranks --holdout off curve.csv
same --solver sweeps --ensemble 2 --grids 20 curve.csv
light || same --tune on --solver sweeps --grids 64 curve.csv

# Close rows side by side.
if ! light; then
    run generate friedman --rows 131072 --noise 0.3 --seed 7 -o many.csv
    same --solver sweeps --max-iter 2 --grids 20 --sigma 8 --holdout 0.1 many.csv
fi

# A fit by sweeps needs no bin numbers on the CPU; one that goes on by CG does.
run train --device cuda --solver sweeps --max-iter 8 --grids 40 --holdout 0.2 -o a.kerbin curve.csv
expect_status 0
expect_stderr 'of bin numbers stay there'
! grep -q 'copied from there' stderr || fail "bin numbers were copied"
run train --device cuda --solver sweeps --tol 1e-7 --grids 33 --lambda 0.01 -o a.kerbin curve.csv
expect_status 0
expect_stderr 'of bin numbers are copied from there'

# Products for CG are in whole numbers, on the device or, where that has little memory, on the CPU.
for how in "curve.csv" "--weights column:w weighed.csv" "classes.csv"; do
    # shellcheck disable=SC2086 # options are words
    run train -q --device cuda --solver cg --grids 33 --holdout off --threads 1 -o one.kerbin $how
    expect_status 0
    # shellcheck disable=SC2086
    run train -q --device cuda --solver cg --grids 33 --holdout off --threads 2 -o two.kerbin $how
    expect_status 0
    cmp -s one.kerbin two.kerbin || fail "the models by CG differ: $how"
    # shellcheck disable=SC2086
    KB_EMULATED_MEMORY=1000 run train -q --device cuda --solver cg --grids 33 --holdout off -o two.kerbin $how
    expect_status 0
    case $KERBIN_CUDA_MODULE in
    *emulated*) cmp -s one.kerbin two.kerbin || fail "the model by CG of the CPU differs: $how" ;;
    esac
done

# Predictions have the same bytes, and rows that are scored the same score.
run generate friedman --rows 1500 --noise 0.3 --seed 5 -o new.csv
run train -q --solver sweeps --grids 40 -o predict.kerbin curve.csv
expect_status 0
for what in label decision interval novelty; do
    run predict -q --output "$what" --device cpu -o cpu.txt predict.kerbin new.csv
    expect_status 0
    run predict -q --output "$what" --device cuda -o cuda.txt predict.kerbin new.csv
    expect_status 0
    cmp -s cpu.txt cuda.txt || fail "predictions differ: $what"
done
run cv -q --device cpu --tune off --solver sweeps --grids 16 --folds 2 -o cpu.csv new.csv
expect_status 0
run cv -q --device cuda --tune off --solver sweeps --grids 16 --folds 2 -o cuda.csv new.csv
expect_status 0
cmp -s cpu.csv cuda.csv || fail "predictions of cv differ"

# What it does not do is done on the CPU, with one line of it.
for how in "--solver gmres" "--loss logistic" "--solver sweeps --loss logistic"; do
    # shellcheck disable=SC2086 # options are words
    run train -q --device cuda $how --grids 8 -o a.kerbin rings.csv
    expect_status 0
    expect_stderr_line "^kerbin: warning: --device cuda: a GPU solves the square loss by sweeps and by CG; this fit is on the CPU"
done
run generate rings --rows 300 --seed 3 -o sparse.libsvm
awk '{ print $1, 40 + NR % 50 ":1" }' sparse.libsvm > thin.libsvm
run train -q --device cuda --solver sweeps --grids 8 -o a.kerbin thin.libsvm
expect_status 0
expect_stderr_line '^kerbin: warning: --device cuda: sparse rows are binned and solved on the CPU'

# Where there is no device, it is said before any work, in one line.
unset KB_EMULATED_NONE
KB_EMULATED_NONE=1 run train --device cuda -o b.kerbin curve.csv
case $KERBIN_CUDA_MODULE in
*emulated*)
    expect_status 2
    expect_stderr 'device cuda: no GPU can be used: this machine has none; use --device cpu'
    [ ! -e b.kerbin ] || fail "a model was written"
    ;;
esac
KERBIN_CUDA_MODULE=/nowhere run train -q --device cuda -o b.kerbin curve.csv
expect_status 2
expect_stderr_line '^kerbin: --device cuda: this kerbin is without its module for GPUs'
KERBIN_CUDA_MODULE=libm.so.6 run train -q --device cuda -o b.kerbin curve.csv
expect_status 2
expect_stderr_line '^kerbin: --device cuda: libkerbin_cuda.so is of another version of kerbin'

# The module lies beside the program, whether that is started by its path, through PATH or through a link.
mkdir bin links
cp "$KERBIN" bin/kerbin
cp "$KERBIN_CUDA_MODULE" bin/libkerbin_cuda.so
ln -s ../bin/kerbin links/kerbin
(
    unset KERBIN_CUDA_MODULE
    for way in "$PWD/bin/kerbin" bin/kerbin links/kerbin; do
        "$way" train -q --tune off --grids 8 --device cuda --solver sweeps -o by-path.kerbin curve.csv 2>> faults
        rm by-path.kerbin 2>> faults
    done
    for folder in bin links; do
        PATH=$PWD/$folder:$PATH kerbin train -q --tune off --grids 8 --device cuda --solver sweeps \
            -o by-name.kerbin curve.csv 2>> faults
        rm by-name.kerbin 2>> faults
    done
)
[ ! -s faults ] || fail "the module beside the program was not found: $(head -n 1 faults)"

run train -q --device moon -o b.kerbin curve.csv
expect_status 2
expect_stderr_line 'device'

end
