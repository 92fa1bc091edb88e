#!/usr/bin/env bash
# predict.sh KERBIN KERBIN_MPI MPIRUN - predictions by ranks are those of one process, byte for byte, and so is
# their score.
. "$(dirname "$0")/lib.sh"

{
    echo "id,a,city,\"what
is it\",y"
    for i in $(seq 1 700); do
        echo "r$i,$((i * 37 % 101)).5,$([ $((i % 3)) = 0 ] && echo Oslo || echo Rome),\"a
b$((i % 7))\",$([ $((i * 37 % 101)) -gt $((i % 60)) ] && echo high || echo low)"
    done
} > table.csv
one train --tune off --ignore id table.csv -o table.kerbin
expect_status 0
one generate checkers --rows 500 -o plain.libsvm
one train --tune off plain.libsvm -o plain.kerbin
expect_status 0
one generate regression --rows 500 -o numbers.csv 2> /dev/null
one generate plane --rows 10 -o small.libsvm 2> /dev/null
head -n 3 plain.libsvm > three.libsvm

# same P NAME ARG.. - what P ranks write and print is what one process does.
same() {
    local ranks=$1 name=$2
    shift 2
    one predict "$@" -o one.out
    expect_status 0
    cp stdout one.score
    mpi "$ranks" predict "$@" -o many.out
    expect_status 0
    cmp -s one.out many.out || fail "$name: predictions differ"
    cmp -s one.score stdout || fail "$name: the score differs"
    [ ! -s stderr ] || fail "$name: something on standard error"
    rm -f one.out many.out
}

gzip -k table.csv
for ranks in 1 2 3 5; do
    same "$ranks" table table.kerbin table.csv
    same "$ranks" kept --keep id,city table.kerbin table.csv
    same "$ranks" probabilities --output probability table.kerbin table.csv
    same "$ranks" sparse plain.kerbin plain.libsvm
    same "$ranks" few plain.kerbin three.libsvm
    same "$ranks" compressed --keep id table.kerbin table.csv.gz
done

# To standard output, and from standard input: rank 0 has both.
one predict --keep id table.kerbin table.csv
cp stdout one.out
for ranks in 2 3; do
    INPUT=table.csv mpi "$ranks" predict --keep id table.kerbin -
    expect_status 0
    cmp -s one.out stdout || fail "predictions on standard output differ"
done

# The library's JSON has the rows of all ranks.
mpi 3 predict --json table.kerbin table.csv
expect_status 0
grep -q '"rows": 700' stdout || fail "not all rows are counted"

finish
