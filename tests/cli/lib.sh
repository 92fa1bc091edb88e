# lib.sh - what the tests of the command line share; `. lib.sh` with the program's path
# as first argument.  Each test runs in an empty directory of its own.
# shellcheck shell=bash
set -uo pipefail

KERBIN=$(readlink -f "$1")
TESTS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export KERBIN TESTS
export LC_ALL=C
# Tests share the cores with each other; threads that wait must not keep them busy.
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
cd "$WORK" || exit 1
failures=0

# Under the sanitizers, and for coverage, everything takes many times as long: the same paths are
# then taken with less work.
light() {
    [ "${KERBIN_LIGHT:-}" = 1 ]
}

fail() {
    failures=$((failures + 1))
    echo "FAILED: $*"
    echo "  command: ${command:-none}"
    echo "  status:  ${status:-none}"
    sed 's/^/  stdout:  /' stdout 2> /dev/null | head -n 5
    sed 's/^/  stderr:  /' stderr 2> /dev/null | head -n 5
}

# run ARG.. - runs kerbin; $status, and the files stdout and stderr, tell what came.  A model is
# trained without trials, as most tests mean it and as is quicker, but for TUNE=on.
TUNE=off
run() {
    if [ "${1:-} $TUNE" = "train off" ]; then
        shift
        set -- train --tune off "$@"
    fi
    command="kerbin $*"
    status=0
    "$KERBIN" "$@" > stdout 2> stderr < "${INPUT:-/dev/null}" || status=$?
}

expect_status() {
    [ "$status" -eq "$1" ] || fail "exit status $status instead of $1"
}

# expect_stderr_line PATTERN - standard error is one line, which matches.
expect_stderr_line() {
    [ "$(wc -l < stderr)" -eq 1 ] || fail "standard error is not exactly one line"
    grep -Eq -- "$1" stderr || fail "standard error does not match: $1"
}

expect_stderr() {
    grep -Eq -- "$1" stderr || fail "standard error does not match: $1"
}

expect_no_stderr() {
    [ ! -s stderr ] || fail "standard error is not empty"
}

expect_stdout() {
    grep -Eq -- "$1" stdout || fail "standard output does not match: $1"
}

expect_no_stdout() {
    [ ! -s stdout ] || fail "standard output is not empty"
}

# The file is not there, nor a temporary one beside it.
expect_no_file() {
    local left
    left=$(find "$(dirname "$1")" -maxdepth 1 -name "$(basename "$1")*")
    [ -z "$left" ] || fail "left behind: $left"
}

expect_file() {
    [ -s "$1" ] || fail "no file $1"
}

expect_same() {
    cmp -s "$1" "$2" || fail "$1 and $2 differ"
}

# expect_at_least WHAT VALUE BOUND
expect_at_least() {
    awk -v v="$2" -v b="$3" 'BEGIN { exit !(v != "" && v + 0 >= b) }' || fail "$1 is $2, below $3"
}

# fails_with STATUS PATTERN ARG.. - one line on standard error, nothing on standard output.
fails_with() {
    local expected=$1 pattern=$2
    shift 2
    run "$@"
    expect_status "$expected"
    expect_stderr_line "$pattern"
    expect_no_stdout
}

# json KEY - a number or a word of the JSON object on standard output.
json() {
    sed -n "s/^ *\"$1\": \"\\{0,1\\}\\([^\",]*\\)\"\\{0,1\\},\\{0,1\\}\$/\\1/p" stdout
}

# A small set that a good model learns well, and one to test it.
make_data() {
    "$KERBIN" generate checkers --rows 2000 --seed 1 -o train.libsvm || fail "generate"
    "$KERBIN" generate checkers --rows 500 --seed 2 -o test.libsvm || fail "generate"
}

end() {
    if [ "$failures" -gt 0 ]; then
        echo "$failures failed"
        exit 1
    fi
    echo "all passed"
}
