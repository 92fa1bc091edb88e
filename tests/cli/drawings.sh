#!/bin/bash
# experiments/drawings: two whole figures, of the numbers that kerbin wrote.
. "$(dirname "$0")/lib.sh"
if ! command -v gnuplot > /dev/null || ! command -v python3 > /dev/null; then
    echo "skipped: no gnuplot or no python3"
    exit 77
fi
command="drawings"
status=0
"$TESTS/../../experiments/drawings" --kerbin "$KERBIN" -o out > stdout 2> stderr || status=$?
expect_status 0
expect_no_stderr
for figure in grids pattern; do
    grep -q '</svg>' out/$figure.svg || fail "$figure.svg is not whole"
done
run inspect --json out/model.kerbin
grep -q "Z: N = 200 rows, D = $(json bins) columns, R = 10 nonzeros in each row, 2000 in all" \
    out/pattern.svg || fail "the title of the pattern"
# The bins of the first grid that are not empty, counted in Z itself.
bins=$(awk '{ print $2 }' out/z.libsvm | sort -u | wc -l)
grep -q "grid 1: $bins bins are not empty" out/grids.svg || fail "grid 1 has $bins bins"
end
