# lib.sh - what the tests of kerbin-mpi share; `. lib.sh KERBIN KERBIN_MPI MPIRUN`.  Each test runs in an
# empty directory of its own.
# shellcheck shell=bash
set -uo pipefail

KERBIN=$(readlink -f "$1")
KERBIN_MPI=$(readlink -f "$2")
MPIRUN=$3
export LC_ALL=C
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
cd "$WORK" || exit 1
failures=0
# Open MPI: more ranks than processors, as root, and what it writes beside the program: none of it.  MPICH has
# no such options, and needs none.
MPI_FLAGS="--oversubscribe --allow-run-as-root -q"
"$MPIRUN" --version 2>&1 | grep -qi hydra && MPI_FLAGS=""
export OMPI_MCA_btl_base_warn_component_unused=0

fail() {
    failures=$((failures + 1))
    echo "FAILED: $*"
    echo "  command: ${command:-none}"
    echo "  status:  ${status:-none}"
    sed 's/^/  stdout:  /' stdout 2> /dev/null | head -n 5
    sed 's/^/  stderr:  /' stderr 2> /dev/null | head -n 12
}

# mpi P ARG.. - runs kerbin-mpi by P ranks.
mpi() {
    local ranks=$1
    shift
    command="mpirun -n $ranks kerbin-mpi $*"
    status=0
    # shellcheck disable=SC2086 # the flags are words
    "$MPIRUN" $MPI_FLAGS -n "$ranks" "$KERBIN_MPI" "$@" > stdout 2> stderr < "${INPUT:-/dev/null}" || status=$?
}

# apart PART.. - runs what mpirun takes, such as -n 1 PROGRAM ARG.. : -n 1 PROGRAM ARG..
apart() {
    command="mpirun $*"
    status=0
    # shellcheck disable=SC2086
    "$MPIRUN" $MPI_FLAGS "$@" > stdout 2> stderr < /dev/null || status=$?
}

# one ARG.. - runs kerbin.
one() {
    command="kerbin $*"
    status=0
    "$KERBIN" "$@" > stdout 2> stderr < /dev/null || status=$?
}

expect_status() {
    [ "$status" -eq "$1" ] || fail "exit status $status instead of $1"
}

# expect_line PATTERN - the program has written one line to standard error, which matches; mpirun may add lines
# of its own.
expect_line() {
    [ "$(grep -c '^kerbin: ' stderr)" -eq 1 ] || fail "not exactly one line of kerbin"
    grep -Eq -- "^kerbin: $1" stderr || fail "standard error does not match: $1"
}

# Nothing but these files is there.
expect_files() {
    local found
    found=$(ls -A | tr '\n' ' ')
    [ "$found" = "$* " ] || fail "the files are $found"
}

finish() {
    [ "$failures" -eq 0 ] || exit 1
    echo "all is well"
}
