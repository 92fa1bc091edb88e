#!/bin/bash
# experiments/convergence: its refits end where kerbin's own fits end, and the objective falls
# faster with random binning than with Fourier features.
. "$(dirname "$0")/lib.sh"
find_data cadata.libsvm
if light; then
    echo "skipped: scripts, which the sanitizers tell nothing of"
    exit 77
fi
if ! /usr/bin/python3 -c 'import numpy' 2> /dev/null || ! command -v gnuplot > /dev/null; then
    echo "skipped: no python3 with numpy, or no gnuplot"
    exit 77
fi
export OPENBLAS_NUM_THREADS=1
command="convergence"
status=0
"$TESTS/../../experiments/convergence" --kerbin "$KERBIN" --data "$DATA" --sets cadata --rows 400 \
    --seeds 1 --most 16 -o out > stdout 2> stderr || status=$?
expect_status 0
expect_no_stderr
expect_file out/convergence.svg
cat stdout

# column PENALTY MAP R NAME - a number of the table.
column() {
    awk -F, -v p="$1" -v m="$2" -v R="$3" -v name="$4" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
        $2 == p && $3 == m && $4 == R { print $at[name] }' out/convergence.csv
}
# expect_same_objective WHAT THEIRS TOLERANCE OPTION.. - what kerbin comes to with the options.
expect_same_objective() {
    local what=$1 theirs=$2 tolerance=$3
    shift 3
    run train -q --json --task regression --scale none --intercept off -o m.kerbin "$@" out/cadata.libsvm
    expect_status 0
    awk -v a="$(json objective)" -v b="$theirs" -v t="$tolerance" \
        'BEGIN { exit !(a > 0 && (a / b - 1) ^ 2 < t * t) }' ||
        fail "$what: kerbin's objective is $(json objective), the experiment's $theirs"
}
sigma=$(column l2 binning 16 sigma)
lambda=$(column l2 binning 16 lambda)
for map in binning fourier; do
    expect_same_objective "L2, $map" "$(column l2 $map 16 objective)" 1e-6 \
        --map $map --grids 16 --sigma "$sigma" --lambda "$lambda" --tol 1e-8 --max-iter 5000
    # The paper's features are not divided by sqrt(R); both stop within 1e-4 of the least.
    expect_same_objective "L1, $map" "$(column l1 $map 16 objective)" 3e-4 --penalty l1 --tol 1e-4 \
        --max-iter 5000 --map $map --grids 16 --sigma "$sigma" \
        --lambda "$(awk -v l="$(column l1 $map 16 lambda)" 'BEGIN { printf "%.17g", l / 4 }')"
done
expect_same_objective "exact" "$(column l2 binning 16 limit)" 1e-8 \
    --map exact --sigma "$sigma" --lambda "$lambda"
for penalty in l2 l1; do
    for R in 4 8 16; do
        expect_at_most "gap of $penalty at $R" "$(column $penalty binning $R gap)" \
            "$(column $penalty fourier $R gap)"
    done
    expect_at_most "gap of $penalty from R = 4 to 16" "$(column $penalty binning 16 gap)" \
        "$(awk -v g="$(column $penalty binning 4 gap)" 'BEGIN { print g / 2 }')"
done
end
