# lib.sh - what the tests on real data share, on top of ../cli/lib.sh; `. lib.sh` with the
# program's path as first argument.
#
# The data are not part of the repository.  They are looked for in the folder KERBIN_DATA,
# else in ../shared/data beside the repository, as NAME or NAME.xz; a test that misses one
# of its files is skipped.
# shellcheck shell=bash
. "$(dirname "${BASH_SOURCE[0]}")/../cli/lib.sh"

DATA=${KERBIN_DATA:-$TESTS/../../../shared/data}

# find_data NAME.. - sets $NAME, with _ for what no variable may hold, to the file's path.
find_data() {
    local name path
    for name in "$@"; do
        for path in "$DATA/$name" "$DATA/$name.xz"; do
            [ -r "$path" ] && break
        done
        if [ ! -r "$path" ]; then
            echo "skipped: no $name in $DATA (set KERBIN_DATA)"
            exit 77
        fi
        printf -v "${name//[^a-zA-Z0-9]/_}" %s "$(readlink -f "$path")"
    done
}

# Where the work is light, lower bars only catch a broken model.
if light; then
    echo "lighter work"
fi

# expect_at_most WHAT VALUE BOUND
expect_at_most() {
    awk -v v="$2" -v b="$3" 'BEGIN { exit !(v != "" && v + 0 <= b) }' || fail "$1 is $2, above $3"
}

# measure KEY MODEL TRAIN TEST OPTION.. - trains, predicts, and prints the score that
# predict --json calls KEY.  Shows failures on standard error.
measure() {
    local key=$1 model=$2 train=$3 test=$4
    shift 4
    run train -q -o "$model" "$@" "$train"
    expect_status 0 >&2
    run predict -q --json "$model" "$test"
    expect_status 0 >&2
    json "$key"
}

# text FILE - the plain text of a data file.
text() {
    case $1 in
    *.xz) xz -dc "$1" ;;
    *) cat "$1" ;;
    esac
}

# as_csv FEATURES - LIBSVM on standard input to CSV with the label last.
as_csv() {
    awk -v d="$1" '{
        split("", x)
        for (i = 2; i <= NF; i++) { split($i, entry, ":"); x[entry[1]] = entry[2] }
        for (j = 1; j <= d; j++) printf "%s,", j in x ? x[j] : 0
        print $1 + 0 }'
}

# difference ROWS A B - the largest difference of a decision between the last ROWS lines of
# two files, over the largest decision.
difference() {
    paste -d, <(tail -n "$1" "$2") <(tail -n "$1" "$3") | awk -F, '
        { for (c = 1; c <= NF / 2; c++) {
            a = $c; b = $(c + NF / 2); e = a > b ? a - b : b - a; a = a < 0 ? -a : a
            if (e > most) most = e
            if (a > size) size = a } }
        END { print (size > 0 ? most / size : 1) }'
}

# split FIRST FILE TRAIN TEST - shuffles the lines, always in the same way (Fisher and
# Yates with the generator of Lehmer, whose products a double holds exactly), and cuts them.
split() {
    text "$2" | awk -v first="$1" -v train="$3" -v test="$4" '
        { line[NR] = $0 }
        END {
            x = 12345
            for (i = NR; i > 1; i--) {
                x = (x * 16807) % 2147483647
                j = 1 + x % i
                swap = line[i]; line[i] = line[j]; line[j] = swap
            }
            for (i = 1; i <= NR; i++)
                print line[i] > (i <= first ? train : test)
        }'
}
