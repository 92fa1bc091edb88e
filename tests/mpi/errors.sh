#!/usr/bin/env bash
# errors.sh KERBIN KERBIN_MPI MPIRUN - whatever goes wrong on one rank or on all is one line, the exit status
# says so, and no file is left half.
. "$(dirname "$0")/lib.sh"

one generate checkers --rows 400 -o data.csv
one train --tune off data.csv -o data.kerbin
expect_status 0
rm -f stdout stderr

mpi 3 --version
expect_status 0
[ "$(cat stdout)" = "$("$KERBIN" --version)" ] || fail "not one line with the version"

mpi 3 trian data.csv
expect_status 2
expect_line "unknown command 'trian'; did you mean train"
mpi 2 predict data.kerbin
expect_status 2
expect_line "too few arguments"
mpi 2 sweep data.csv data.csv
expect_status 2
expect_line "sweep runs in one process"
mpi 2 predict data.kerbin nowhere.csv
expect_status 1
expect_line "nowhere.csv: cannot open"
mpi 2 predict data.kerbin data.csv -o nowhere/out.csv
expect_status 1
expect_line "nowhere/out.csv: cannot write"
mpi 2 predict nowhere.kerbin data.csv
expect_status 1
expect_line "nowhere.kerbin: cannot"

# A bad line is told by its number in the file, whoever reads it.
for line in 2 150 399; do
    sed "${line}s/.*/1,x,3,4,5,6/" data.csv > bad.csv
    for ranks in 2 3; do
        mpi "$ranks" predict data.kerbin bad.csv -o out.csv
        expect_status 1
        expect_line "bad.csv:$line: "
    done
done
rm bad.csv

# Ranks that do not go together.
apart -n 1 "$KERBIN_MPI" predict data.kerbin data.csv : -n 2 "$KERBIN_MPI" predict data.kerbin other.csv
expect_status 2
expect_line "rank 1 of 3 has another command line"
version=$("$KERBIN" --version | cut -d' ' -f2)
sed "s/${version//./\\.}/${version%?}x/g" "$KERBIN_MPI" > other
chmod +x other
apart -n 2 "$KERBIN_MPI" predict data.kerbin data.csv : -n 1 ./other predict data.kerbin data.csv
expect_status 2
expect_line "rank 2 of 3 has kerbin ${version%?}x, and rank 0 has $version"
rm other

# A file of that name that is another one.
mkdir there
head -n 300 data.csv > there/rows.csv
cp data.csv rows.csv
cp data.kerbin there
apart -n 1 "$KERBIN_MPI" predict data.kerbin rows.csv -o "$WORK/out.csv" : \
    -n 1 -wdir "$WORK/there" "$KERBIN_MPI" predict data.kerbin rows.csv -o "$WORK/out.csv"
expect_status 1
expect_line "rows.csv: rank 1 sees a file of [0-9]* bytes, and rank 0 one of [0-9]*"
sed 's/1/2/' data.csv > there/rows.csv
apart -n 1 "$KERBIN_MPI" predict data.kerbin rows.csv -o "$WORK/out.csv" : \
    -n 1 -wdir "$WORK/there" "$KERBIN_MPI" predict data.kerbin rows.csv -o "$WORK/out.csv"
expect_status 1
expect_line "rows.csv: rank 1 sees another file"
rm there/rows.csv
apart -n 1 "$KERBIN_MPI" predict data.kerbin rows.csv -o "$WORK/out.csv" : \
    -n 1 -wdir "$WORK/there" "$KERBIN_MPI" predict data.kerbin rows.csv -o "$WORK/out.csv"
expect_status 1
expect_line "rank 1: rows.csv: cannot open"
rm -r there rows.csv

# A folder that not all ranks have in common, and a disk that is full before the part of rank 1: the old file
# stays.
cp data.csv long.csv
for k in $(seq 1 39); do tail -n +2 data.csv; done >> long.csv
echo old > out.csv
mkdir there
cp data.kerbin long.csv there
apart -n 1 "$KERBIN_MPI" predict data.kerbin long.csv -o out.csv : \
    -n 1 -wdir "$WORK/there" "$KERBIN_MPI" predict data.kerbin long.csv -o out.csv
expect_status 1
expect_line "rank 1: out.csv: cannot write"
[ "$(cat out.csv)" = old ] || fail "the old file is gone"
rm -r there out.csv
mkdir small
cat > full << END
mount -t tmpfs -o size=20k none small || exit 77
echo old > small/out
"$MPIRUN" $MPI_FLAGS -n 2 "$KERBIN_MPI" \$@ -o small/out > stdout 2> stderr
status=\$?
[ "\$(cat small/*)" = old ] || echo "kerbin: the old file is gone, or there is another" >> stderr
exit \$status
END
for what in "predict data.kerbin long.csv" "train --tune=off -q long.csv"; do
    status=0
    command="$what, into a full disk"
    # shellcheck disable=SC2086 # words
    unshare -m bash full $what > /dev/null 2>&1 || status=$?
    if [ "$status" -ne 77 ] && grep -q kerbin: stderr; then
        expect_status 1
        expect_line "(rank 1: )?small/out: cannot write: "
    elif [ "$status" -ne 77 ] && unshare -m true 2> /dev/null; then
        fail "a full disk is not told"
    fi
done

# --max-memory is for each rank: two need less than one each.
for ranks in 1 2; do
    mpi "$ranks" train --tune=off --solver sweeps --holdout=off --grids 16 --max-iter 2 --threads 1 -q \
        --max-memory 3500K long.csv -o out.kerbin
    expect_status $((2 - ranks))
    [ "$ranks" -eq 2 ] || expect_line "16 grids over [0-9]* rows and 2 features need at least .* and 3.4 MiB may be taken"
done
rm -r long.csv small full out.kerbin

expect_files data.csv data.kerbin stderr stdout
finish
