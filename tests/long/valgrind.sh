#!/bin/bash
# Commands under valgrind: no invalid access, no use of what was not set, no leak.
. "$(dirname "$0")/../cli/lib.sh"
command -v valgrind > /dev/null || {
    echo "skipped: there is no valgrind"
    exit 77
}

# clean ARG.. - runs the command under valgrind.
clean() {
    command="valgrind kerbin $*"
    status=0
    valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite,indirect \
        "$KERBIN" "$@" > stdout 2> stderr < /dev/null || status=$?
    expect_status 0
}

clean generate checkers --rows 300 -o data.libsvm
awk 'BEGIN { print "a,town,when,y"; for (i = 0; i < 120; i++)
    printf "%s,%s,2024-%02d-%02d,%g\n", i % 9 ? i : "", i % 3 ? "Rome" : "Bern", i % 12 + 1, i % 28 + 1, i * i }' \
    > table.csv
gzip -k table.csv
for options in "--solver cg" "--solver sweeps" "--solver gmres" "--loss logistic" "--penalty l1" "--map exact" \
    "--map fourier" "--map nystrom" "--map blocks --solver cg" "--probability on"; do
    # shellcheck disable=SC2086
    clean train -q --tune off --grids 16 $options -o out.kerbin data.libsvm
    clean predict -q -o predictions out.kerbin data.libsvm
done
clean train -q --grids 32 --widths equal -o table.kerbin table.csv.gz
clean predict -q --output interval -o predictions table.kerbin table.csv
clean inspect --json table.kerbin
clean explain -q -o reasons.csv table.kerbin table.csv
clean report -q -o report.html table.kerbin table.csv
end
