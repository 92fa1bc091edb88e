#!/bin/bash
# Synthetic sets: every name works, seeds repeat, formats follow the file's name.
. "$(dirname "$0")/lib.sh"

run help generate
names=$(sed -n 's/^NAME is one of \(.*\)\.$/\1/p' stdout | sed 's/ or /, /; s/, / /g')
[ -n "$names" ] || fail "help generate names no set"
for name in $names; do
    run generate "$name" --rows 300 --seed 5
    expect_status 0
    expect_no_stderr
    [ "$(wc -l < stdout)" -eq 300 ] || fail "$name has not 300 rows"
    mv stdout "$name.a"
    run generate --seed 5 --rows 300 -o "$name.b" "$name"
    expect_no_stdout
    expect_same "$name.a" "$name.b"
    run generate --seed 6 --rows 300 -o "$name.c" "$name"
    cmp -s "$name.a" "$name.c" && fail "the seed changes nothing in $name"
    run generate --seed 5 --rows 300 --noise 0.5 -o "$name.d" "$name"
    cmp -s "$name.a" "$name.d" && fail "noise changes nothing in $name"
    run generate --rows 300 --seed 5 -o "$name.csv" "$name"
    run train -q -o "$name.kerbin" "$name.csv"
    expect_status 0
done
fails_with 2 '^kerbin: --noise 2: must be a number from 0 to 1$' generate --noise 2 checkers
fails_with 2 '^kerbin: --rows 0: must be ' generate --rows 0 checkers
end
