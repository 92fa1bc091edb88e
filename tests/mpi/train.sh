#!/usr/bin/env bash
# train.sh KERBIN KERBIN_MPI MPIRUN - the model has the same bytes for any number of ranks and threads.
. "$(dirname "$0")/lib.sh"

# Rows for all of five ranks, which begin at multiples of 2048.
one generate checkers --rows 11000 --noise 0.05 -o classes.csv
awk -F, 'NR == 1 { print "a,b,city,y"; next }
    { printf "%s,%s,%s,%.4f\n", $1, $2, NR % 3 ? "Oslo" : "Rome", $1 * $1 + ($2 > 0) + NR % 3 / 4 }' \
    classes.csv > numbers.csv
head -n 100 numbers.csv > few.csv

# same NAME ARG.. - the bytes for all ranks and threads; an option of kerbin that mpirun has too needs its "=".
same() {
    local name=$1 ranks threads
    shift
    mpi 1 train --threads 1 -q "$@" -o first.kerbin
    expect_status 0
    grep -v "not converged" stderr | grep -q kerbin: && fail "$name: something on standard error"
    for ranks in 1 2 3 5; do
        for threads in 1 2; do
            [ "$ranks.$threads" = 1.1 ] && continue
            mpi "$ranks" train --threads "$threads" -q "$@" -o other.kerbin
            expect_status 0
            cmp -s first.kerbin other.kerbin || fail "$name: another model by $ranks ranks of $threads threads"
            rm -f other.kerbin
        done
    done
    rm -f first.kerbin
}

same sweeps --tune=off --solver sweeps --grids 32 numbers.csv
same cg --tune=off --solver cg --grids 32 --max-iter 15 classes.csv
same few --tune=off --grids 16 few.csv

# Several files are those rows, plain, and compressed where each rank gets whole ones; and so are predictions.
mpi 1 train --tune=off --solver sweeps --grids 32 -q numbers.csv -o first.kerbin
one predict first.kerbin numbers.csv -o first.csv
mkdir parts
tail -n +2 numbers.csv | split -l 1900 - parts/p
for part in parts/p*; do
    { head -n 1 numbers.csv; cat "$part"; } > "$part.csv"
    rm "$part"
done
for packed in no yes; do
    [ $packed = no ] || gzip parts/*
    for ranks in 1 2 5; do
        mpi "$ranks" train --tune=off --solver sweeps --grids 32 -q 'parts/p*' -o other.kerbin
        expect_status 0
        cmp -s first.kerbin other.kerbin || fail "another model from several files, by $ranks ranks"
        mpi "$ranks" predict first.kerbin 'parts/p*' -o other.csv
        cmp -s first.csv other.csv || fail "other predictions for several files, by $ranks ranks"
        rm -f other.kerbin other.csv
    done
done
gunzip parts/*
echo 1 >> parts/pad.csv
for ranks in 1 3; do
    mpi "$ranks" train --tune=off --grids 32 -q 'parts/p*' -o other.kerbin
    expect_status 1
    expect_line "(rank [0-9]: )?parts/pad.csv:1902: fewer fields"
done
rm -r parts first.kerbin first.csv

# Waits until the ranks of a run that was stopped are gone: mpirun may end before one that is writing a file.
until_gone() {
    local process tries
    for tries in {1..100}; do
        for process in /proc/[0-9]*; do
            [ "$(readlink "$process/exe")" = "$KERBIN_MPI" ] && [ "$(readlink "$process/cwd")" = "$WORK" ] &&
                sleep 0.1 && continue 2
        done
        return
    done
    fail "ranks of a run that was stopped are still there"
}

# A checkpoint of three ranks, gone on from by two and by one.
mpi 1 train --tune=off --solver sweeps --grids 32 -q numbers.csv -o first.kerbin
for ranks in 2 1; do
    for seconds in 1 1.5 2; do
        # shellcheck disable=SC2086
        timeout -s INT "$seconds" "$MPIRUN" $MPI_FLAGS -n 3 "$KERBIN_MPI" train --tune=off --solver sweeps --grids 32 -q \
            --checkpoint state --every 0 numbers.csv -o other.kerbin > stdout 2> stderr
        until_gone
        mpi "$ranks" train --tune=off --solver sweeps --grids 32 -q --checkpoint state --every 0 numbers.csv -o other.kerbin
        expect_status 0
        cmp -s first.kerbin other.kerbin || fail "another model from a checkpoint, by $ranks ranks"
        [ ! -e state ] || fail "the checkpoint stays behind"
        rm -f other.kerbin
    done
done

# A path of the L1 penalty with rows to choose by: the same scores, told once.
path() { mpi "$1" train --tune=off --penalty l1 --lambda 1 --lambda-path 2 --max-iter 20 --grids 16 --valid few.csv classes.csv -o path.kerbin; }
head -n 300 classes.csv > few.csv
path 1
expect_status 0
grep -v '^time\|^memory' stdout > one.txt
cp path.kerbin one.kerbin
path 3
expect_status 0
grep -v '^time\|^memory' stdout | cmp -s - one.txt || fail "other lines, or more of them, from three ranks"
cmp -s path.kerbin one.kerbin || fail "another model of a path from three ranks"

# What is printed is told once, by rank 0.
for solver in sweeps cg; do
    mpi 2 train --tune=off --solver $solver --grids 16 --max-iter 9 --json numbers.csv -o model.kerbin
    expect_status 0
    python3 - << 'END' || fail "no single JSON document, or other bytes than foreseen, by $solver"
import json
fit = json.load(open("stdout"))
ranks, of = fit["ranks"], "sweep" if fit["solver"] == "sweeps" else "step"
sent, foreseen = ranks["sent_bytes_a_" + of], ranks["foreseen_bytes_a_" + of]
assert ranks["count"] == 2 and ranks["sent_bytes"] > sent, ranks
assert foreseen <= sent <= 1.1 * foreseen, ranks  # some hundred bytes of statuses beside the sums
END
done

finish
