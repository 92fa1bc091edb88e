#!/bin/bash
# Reading keeps to --max-memory, whatever it reads, and what is no text is known at once.
. "$(dirname "$0")/lib.sh"

# A process that takes more than this is a failure by itself; the sanitizers need all of it.
light || ulimit -v 1500000

if [ -c /dev/zero ]; then
    for place in "train -q -o m /dev/zero" "train -q --weights /dev/zero -o m small" \
        "train -q --sigma @/dev/zero -o m small" "train -q --kernel table:/dev/zero -o m small" \
        "train -q --class-weight /dev/zero -o m small"; do
        printf '1 1:1\n-1 1:2\n1 1:3\n-1 1:4\n' > small
        # shellcheck disable=SC2086
        fails_with 1 '^kerbin: /dev/zero:1: a zero byte: this is not plain text' $place
    done
fi

# Compressed zeros, and compressed lines: 64 MB of each.
head -c 64000000 /dev/zero | gzip -1 > zeros.gz
fails_with 1 '^kerbin: zeros\.gz:1: a zero byte' train -q --max-memory 20M -o m zeros.gz
{ yes '1 1:1' | head -c 48000000 || true; } | gzip -1 > rows.gz
fails_with 1 '^kerbin: rows\.gz: reading it takes more than 20 MiB of memory: .* --max-memory' \
    train -q --max-memory 20M -o m rows.gz
{ yes 1 | head -c 48000000 | tr -d '\n' || true; } | gzip -1 > line.gz
fails_with 1 '^kerbin: line\.gz(:1: a line of more than|: reading it takes more than 20 MiB)' \
    train -q --max-memory 20M -o m line.gz
{ yes '1,some text that is long enough to take memory if it is kept' | head -n 800000 |
    awk '{ print $0 NR }' || true; } > texts.csv
fails_with 1 '^kerbin: texts\.csv: reading it takes more than 20 MiB' \
    train -q --max-memory 20M --label 1 -o m texts.csv

# Small files have limits of their own.
head -c 80000000 /dev/zero | tr '\0' ' ' > blanks
for place in "--kernel table:blanks" "--class-weight blanks"; do
    # shellcheck disable=SC2086
    fails_with 1 '^kerbin: blanks:1: a line of more than' train -q $place -o m small
done
rm blanks

# More than that is never taken: the program itself, and a block for each thread, come on top.
awk 'BEGIN { srand(1); for (i = 0; i < 200000; i++) {
    for (j = 0; j < 20; j++) printf "%.6f,", rand(); print i % 2 } }' > wide.csv
if command -v python3 > /dev/null && ! light; then
    cat > peak.py << 'PYTHON'
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
PYTHON
    kib=$(python3 peak.py "$KERBIN" train -q --threads 2 --max-memory 12M -o m wide.csv)
    command="train --max-memory 12M wide.csv"
    [ "$kib" -le $(((12 + 18) * 1024)) ] || fail "it took $kib KiB at the peak"
fi
fails_with 1 '^kerbin: wide\.csv: reading it takes more than 12 MiB' \
    train -q --max-memory 12M -o m wide.csv

# An array says how large it is.
if command -v python3 > /dev/null; then
    python3 - << 'PYTHON'
header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000), }\n"
open("huge.npy", "wb").write(b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header + b"1234")
PYTHON
    fails_with 1 '^kerbin: huge\.npy: reading it takes more than 20 MiB' \
        train -q --max-memory 20M -o m huge.npy
fi

# The address space is a limit too: refused, not killed.
if ! light; then
    (ulimit -v 300000 && "$KERBIN" train -q --threads 2 -o m rows.gz > stdout 2> stderr)
    status=$?
    expect_status 1
    expect_stderr_line 'memory'
fi
end
