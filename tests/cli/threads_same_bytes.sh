#!/bin/bash
# The same seed gives the same bytes for any number of threads.
. "$(dirname "$0")/lib.sh"
make_data
awk 'BEGIN { srand(7); for (i = 0; i < 3000; i++) {
    printf "%d", i % 5
    for (j = 1; j <= 40; j++) if (rand() < 0.1) printf " %d:%.3f", j, rand() + i % 5 / 4
    print "" } }' > sparse.libsvm
awk 'BEGIN { srand(8); for (i = 0; i < 3001; i++) {
    a = rand(); b = rand(); print a "," b "," a * b } }' > r.csv

same() {
    local name=$1
    shift
    for threads in 1 2 5; do
        run train -q --threads "$threads" -o "$name.$threads" "$@"
        expect_status 0
    done
    expect_same "$name.1" "$name.2"
    expect_same "$name.1" "$name.5"
}
TUNE=on same checkers train.libsvm
TUNE=on same rival --map nystrom --grids 50 r.csv
same gmres --solver gmres train.libsvm
same sparse --grids 100 --scale maxabs sparse.libsvm
same regression --task regression --kernel triangle --sigma 0.5 r.csv
same power --kernel power:3 --sigma 0.5,0.7 train.libsvm

for threads in 1 2 5; do
    run predict -q --threads "$threads" --output decision -o "decisions.$threads" sparse.1 sparse.libsvm
    expect_status 0
    run features -q --threads "$threads" --grids 20 -o "features.$threads" sparse.libsvm
    expect_status 0
done
for threads in 2 5; do
    expect_same decisions.1 "decisions.$threads"
    expect_same features.1 "features.$threads"
done
end
