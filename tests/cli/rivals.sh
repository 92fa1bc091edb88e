#!/bin/bash
# The rival maps from the command line: train, predict, inspect, features.
. "$(dirname "$0")/lib.sh"
make_data
"$KERBIN" generate checkers --rows 300 --seed 3 -o small.libsvm || fail "generate"
common="--sigma 0.2 --grids 200 --lambda 0.1"
maps="fourier nystrom blocks exact"

# ---- each is trained, described, and used

for map in $maps; do
    run train -q --json --threads 2 --map $map $common -o $map.kerbin train.libsvm
    expect_status 0
    expect_no_stderr
    columns=200
    case $map in blocks | exact) columns=2000 ;; esac
    [ "$(json map) $(json grids) $(json bins)" = "$map 200 $columns" ] || fail "map, grids or bins"
    expect_at_least "train_score of $map" "$(json train_score)" 0.8
    run predict -q --json $map.kerbin test.libsvm
    expect_status 0
    expect_no_stderr
    expect_at_least "accuracy of $map" "$(json accuracy)" 0.75
    run inspect --json $map.kerbin
    expect_status 0
    [ "$(json map) $(json bins)" = "$map $columns" ] || fail "inspect: map or bins"
    run inspect $map.kerbin
    expect_status 0
    expect_stdout "^map +$map, rank R = 200, D = $columns weights\$"
    run train --map $map $common -o text.kerbin train.libsvm
    expect_status 0
    expect_stdout "^map       $map, rank R = 200, D = $columns weights\$"
    expect_same text.kerbin $map.kerbin
done

# ---- kernels, landmarks, losses

for kernel in exponential gauss triangle power:2; do
    run train -q --json --map exact --kernel $kernel --sigma 0.2 -o kernel.kerbin small.libsvm
    expect_status 0
    [ "$(json map) $(json kernel)" = "exact $kernel" ] || fail "map or kernel"
    run predict -q --json kernel.kerbin small.libsvm
    expect_at_least "accuracy with $kernel" "$(json accuracy)" 0.75
done
run train -q --map nystrom --landmarks kmeans++ $common -o far.kerbin train.libsvm
expect_status 0
cmp -s far.kerbin nystrom.kerbin && fail "kmeans++ has the same landmarks as uniform"
for map in $maps; do
    for loss in logistic squared-hinge; do
        run train -q --json --map $map --loss $loss $common -o loss.kerbin small.libsvm
        expect_status 0
        [ "$(json map) $(json loss)" = "$map $loss" ] || fail "map or loss"
    done
done
run train -q --json --map fourier $common --penalty l1 --lambda 1 -o sparse.kerbin train.libsvm
expect_status 0
expect_no_stderr
[ "$(json map) $(json penalty)" = "fourier l1" ] || fail "map or penalty"
expect_at_least "cosines without a weight" "$((200 - $(json nonzeros)))" 1
run train --map fourier $common --penalty l1 --lambda 1 -o sparse.kerbin train.libsvm
expect_stdout ', duality gap [0-9.e-]+ of the objective, [0-9]+ weights are not zero$'

# ---- features

hint='use fewer --grids or a larger --max-memory'
fails_with 1 "^kerbin: --map fourier for 2000 rows needs .* of memory, and 5.0 MiB may be taken: $hint\$" \
    features -q --map fourier --grids 500 --max-memory 5M -o big.z train.libsvm
expect_no_file big.z
run features -q --map fourier --grids 500 --max-memory 60M -o big.z train.libsvm
expect_status 0
for map in fourier nystrom; do
    run features -q --map $map --sigma 0.2 --grids 20 -o $map.z train.libsvm
    expect_status 0
    expect_no_stdout
    awk 'NF != 21 { bad++ } END { exit bad > 0 || NR != 2000 }' $map.z || fail "not 20 features a row"
    run train -q --map $map --sigma 0.2 --grids 20 -o small.kerbin train.libsvm
    run features -q --from small.kerbin train.libsvm
    expect_status 0
    expect_same stdout $map.z
done
for map in blocks exact; do
    fails_with 2 '^kerbin: --map blocks and exact have no features to write$' \
        features -q --map $map --grids 20 -o none.z small.libsvm
    expect_no_file none.z
    fails_with 2 '^kerbin: --map blocks and exact have no features to write$' \
        features -q --from $map.kerbin -o none.z test.libsvm
    expect_no_file none.z
done

# ---- the same bytes for any number of threads

for map in $maps; do
    cp $map.kerbin $map.2
done
for threads in 1 2 5; do
    for map in $maps; do
        [ $threads = 2 ] || run train -q --threads $threads --map $map $common -o $map.$threads train.libsvm
        expect_status 0
        run predict -q --threads $threads --output decision -o $map.decision.$threads $map.1 test.libsvm
        expect_status 0
        [ $map = fourier ] || [ $map = nystrom ] || continue
        run features -q --threads $threads --map $map --grids 20 -o $map.z.$threads train.libsvm
        expect_status 0
    done
done
for threads in 2 5; do
    for map in $maps; do
        expect_same $map.1 $map.$threads
        expect_same $map.decision.1 $map.decision.$threads
    done
    expect_same fourier.z.1 fourier.z.$threads
    expect_same nystrom.z.1 nystrom.z.$threads
done

# ---- what contradicts itself, and what there is no memory for

bad() {
    local code=$1 pattern=$2
    shift 2
    fails_with "$code" "$pattern" train -q -o bad.kerbin "$@" small.libsvm
    expect_no_file bad.kerbin
}
bad 2 '^kerbin: --kernel gauss: is isotropic, and --map binning has product kernels only' --kernel gauss
bad 2 '^kerbin: --penalty l1: --map exact has no features to leave out$' --map exact --penalty l1
bad 2 '^kerbin: --group-grids: needs --map binning$' --map fourier --penalty l1 --group-grids
bad 2 '^kerbin: --lambda-path: needs --map binning$' --map fourier --penalty l1 --lambda-path 5
bad 2 '^kerbin: --solver cholesky: needs --loss square and --map blocks or exact$' \
    --map fourier --solver cholesky
printf '0.5,0.6\n0.7,0.8\n' > widths
bad 2 '^kerbin: --sigma @widths: 2 lines; only --map binning mixes them$' --map blocks --sigma @widths
for map in $maps; do
    bad 1 "^kerbin: --map $map for 300 rows needs .* of memory, and 10 KiB may be taken: use " \
        --map $map --max-memory 10K
done
end
