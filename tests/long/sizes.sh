#!/bin/bash
# Many rows, many columns, many classes, and next to nothing, each within a limit of memory.
. "$(dirname "$0")/../cli/lib.sh"

# within LIMIT ARG.. - trains with --max-memory LIMIT (in MiB); the program takes no more, but for
# what it reads: `beside` MiB.
beside=0
within() {
    local limit=$1
    shift
    run train -q --json --max-memory "${limit}M" -o out.kerbin "$@"
    expect_status 0
    expect_file out.kerbin
    awk -v peak="$(json peak_memory_bytes)" -v limit="$((limit + beside))" \
        'BEGIN { exit !(peak > 0 && peak <= limit * 1048576) }' ||
        fail "took $(json peak_memory_bytes) bytes of $limit MiB"
}

free=$(awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo)
[ "$free" -ge 6000 ] || {
    echo "skipped: needs 6 GB of free memory"
    exit 77
}

# 5 million rows.
"$KERBIN" generate -q checkers --rows 5000000 -o rows.libsvm || fail "generate"
beside=700
within 2000 --grids 16 rows.libsvm
run predict -q -o predictions out.kerbin rows.libsvm
expect_status 0
[ "$(wc -l < predictions)" -eq 5000000 ] || fail "$(wc -l < predictions) predictions"
rm -f rows.libsvm predictions

# 100,000 sparse columns.
awk 'BEGIN {
    srand(1)
    for (i = 0; i < 20000; i++) {
        printf "%d", i % 2
        at = 0
        for (k = 0; k < 20; k++) {
            at += 1 + int(rand() * 4900)
            printf " %d:%.3f", at, rand() + (i % 2) * (k < 5)
        }
        print ""
    }
}' > columns.libsvm
beside=300
within 3000 --grids 32 columns.libsvm
run predict -q --json out.kerbin columns.libsvm
expect_status 0
TUNE=on
within 3000 --budget 60s columns.libsvm
TUNE=off

# 5,000 classes.
awk 'BEGIN {
    srand(2)
    for (i = 0; i < 20000; i++) {
        c = i % 5000
        printf "c%d,%.4f,%.4f,%.4f\n", c, c % 71 + 0.1 * rand(), int(c / 71) + 0.1 * rand(), rand()
    }
}' > classes.csv
within 3000 --grids 32 --label 1 classes.csv
run predict -q --json --label 1 out.kerbin classes.csv
expect_status 0
expect_at_least accuracy "$(json accuracy)" 0.5

# One row, and two.
beside=100
printf 'a,b,y\n1,2,3.5\n' > one.csv
for tune in off on; do
    TUNE=$tune
    within 100 --task regression one.csv
    run predict -q out.kerbin one.csv
    expect_stdout '^3\.5'
done
printf 'a,b,y\n1,2,no\n3,4,yes\n' > two.csv
for tune in off on; do
    TUNE=$tune
    within 100 two.csv
done
end
