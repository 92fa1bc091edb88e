#!/bin/bash
# scripts/fetch-data: from a site (file:// and HTTP), from a folder, interrupted, damaged, unreachable.
. "$(dirname "$0")/lib.sh"
FETCH=$(readlink -f "$TESTS/../../scripts/fetch-data")
if ! command -v curl > /dev/null; then
    echo "skipped: no curl"
    exit 77
fi
unset KERBIN_DATA KERBIN_DATA_URL http_proxy https_proxy all_proxy

fetch() {
    command="fetch-data $*"
    status=0
    "$FETCH" "$@" > stdout 2> stderr < /dev/null || status=$?
}
# letters ROWS - LIBSVM text of 16 features.
letters() {
    awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) { printf "%d", i % 26 + 1
        for (j = 1; j <= 16; j++) printf " %d:%.3g", j, sin(i * j); print "" } }'
}
home=$WORK/home/multiclass
mkdir -p "$home" "$WORK/home/binary"
letters 10500 > "$home/letter.scale.tr"
letters 4500 > "$home/letter.scale.val"
letters 15000 > "$home/letter.scale"
letters 5000 > "$home/letter.scale.t"

# The wrong command line.
fetch
expect_status 2
expect_stderr_line '^fetch-data: which\? all, or'
fetch -o d lettre
expect_status 2
expect_stderr_line "unknown data set 'lettre'; there are cadata"
[ ! -e d ] || fail "a folder for nothing"

# A site that does not exist: one line, and no files are left.
export KERBIN_DATA_URL=http://127.0.0.1:9/none
fetch -o d letter
expect_status 1
expect_stderr \
    '^fetch-data: http://127.0.0.1:9/none/multiclass/letter.scale.tr: cannot be reached \(.*; try again'
[ "$(grep -vc '^fetch-data: fetching' stderr)" = 1 ] || fail "not one line"
[ -z "$(ls -A d)" ] || fail "left: $(ls -A d)"

# A site on disk; existing files are not fetched again.
export KERBIN_DATA_URL=file://$WORK/home
fetch -o d letter
expect_status 0
for part in tr:.tr val:.val train: test:.t; do
    expect_same "d/letter.${part%:*}" "$home/letter.scale${part#*:}"
done
fetch -o d letter
expect_status 0
[ "$(grep -c 'there already' stderr)" = 4 ] || fail "fetched again"

# One file is missing there.
mv "$home/letter.scale.t" kept
rm d/letter.test
fetch -o d letter
expect_status 1
expect_stderr 'letter.scale.t: not there; set KERBIN_DATA'
expect_no_file d/letter.test
mv kept "$home/letter.scale.t"

# An interrupted download: the rest is fetched, and the file is right.
rm -rf d
mkdir -p d/raw
head -c 100000 "$home/letter.scale" > d/raw/letter.scale.part
fetch -o d letter
expect_status 0
expect_same d/letter.train "$home/letter.scale"
# A site that cannot resume (HTTP without ranges).
if command -v python3 > /dev/null; then
    python3 -u -m http.server --bind 127.0.0.1 --directory "$WORK/home" 0 > server 2>&1 &
    server=$!
    trap 'kill $server; rm -rf "$WORK"' EXIT
    for _ in $(seq 100); do
        port=$(sed -n 's/.* port \([0-9]*\) .*/\1/p' server)
        [ -n "$port" ] && break
        sleep 0.1
    done
    rm -rf d
    mkdir -p d/raw
    head -c 100000 "$home/letter.scale" > d/raw/letter.scale.part
    KERBIN_DATA_URL=http://127.0.0.1:$port fetch -o d letter
    expect_status 0
    expect_same d/letter.train "$home/letter.scale"
fi

# Damaged: too few rows, not LIBSVM text, an archive that breaks off.
rm -rf d
head -n 14000 "$home/letter.scale" > short && mv short "$home/letter.scale"
fetch -o d letter
expect_status 1
expect_stderr \
    'letter.scale: 14000 rows and 16 features instead of 15000 rows and at most 16 features; nothing was kept'
expect_no_file d/letter.train
expect_file d/letter.test
[ ! -e d/raw/letter.scale ] || fail "the damaged file is kept"
letters 15000 | sed '77s/:/;/' > "$home/letter.scale"
fetch -o d letter
expect_status 1
expect_stderr 'lines that are not LIBSVM text'
head -c 5000 < /dev/urandom > "$WORK/home/binary/ijcnn1.tr.bz2"
fetch -o d ijcnn1
expect_status 1
expect_stderr 'ijcnn1.tr.bz2: a damaged archive'
expect_no_file d/ijcnn1.train

# Split in two; the rows are all there, shuffled.
mkdir -p folder
awk 'BEGIN { for (i = 0; i < 581012; i++) print i % 2 + 1 " 1:" i / 1e6 }' |
    bzip2 -1 > folder/covtype.libsvm.binary.scale.bz2
KERBIN_DATA=$WORK/folder fetch -o d covtype
expect_status 0
[ "$(wc -l < d/covtype.train) $(wc -l < d/covtype.test)" = "464809 116203" ] || fail "rows of the split"
bzip2 -dc folder/covtype.libsvm.binary.scale.bz2 | sort > all
sort d/covtype.train d/covtype.test | cmp -s - all || fail "the split has other rows"
awk '{ split($2, x, ":"); sum += x[2] } END { exit !(sum / NR > 0.28 && sum / NR < 0.30) }' d/covtype.test ||
    fail "not shuffled"

# A folder with the files under their names here, as .xz; the folder is left as it is.
rm -rf d
letters 15000 > "$home/letter.scale"
for part in tr:.tr val:.val train: test:.t; do
    xz -1c "$home/letter.scale${part#*:}" > "folder/letter.${part%:*}.xz"
done
ls -l folder > before
KERBIN_DATA=$WORK/folder fetch -o d letter
expect_status 0
expect_same d/letter.train "$home/letter.scale"
ls -l folder | cmp -s - before || fail "the folder has changed"
KERBIN_DATA=$WORK/folder fetch -o d cadata
expect_status 1
expect_stderr_line 'cadata.libsvm: neither it nor cadata is in .*folder; unset KERBIN_DATA'
end
