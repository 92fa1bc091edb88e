#!/bin/bash
# run.sh BUILD SOURCE PROGRAM [LIBRARY] - installs the Python package into an environment of its own
# and runs its tests, with that library instead of its own.  Where Python or PyPI is missing it is
# skipped (77), with the reason in BUILD/python-skipped; a package that does not build is a failure.
set -euo pipefail
build=$1 source=$2 program=$3 library=${4:-}
venv=$build/venv
rm -f "$build/python-skipped"

skip() {
    echo "tests of the Python package skipped: $1" | tee "$build/python-skipped"
    exit 77
}

command -v python3 > /dev/null || skip "there is no python3"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || skip "python3 is older than 3.10"
needs=$source/tests/python/requirements.txt
if ! cmp -s "$needs" "$venv/requirements.txt"; then
    rm -rf "$venv"
    python3 -m venv "$venv" > /dev/null 2>&1 || skip "python3 cannot make a virtual environment"
    "$venv/bin/pip" install -q --disable-pip-version-check --retries 1 --no-compile \
        --upgrade -r "$needs" ||
        skip "pip cannot install $(grep -v '^#' "$needs" | tr '\n' ' ')"
    cp "$needs" "$venv/requirements.txt"
fi

# Fits by several processes, where there is an MPI that mpi4py finds at run time.
if command -v mpirun > /dev/null && ! "$venv/bin/python" -c 'import mpi4py' 2> /dev/null; then
    "$venv/bin/pip" install -q --disable-pip-version-check --retries 1 --only-binary :all: mpi4py ||
        echo "tests of fits by ranks skipped: pip cannot install mpi4py"
fi

cd "$source"
"$venv/bin/pip" install -q --disable-pip-version-check --no-build-isolation --no-deps \
    --config-settings=build-dir="$build/python" .
unset KERBIN_LIBRARY
[ -z "$library" ] || export KERBIN_LIBRARY=$library
export KERBIN_PROGRAM=$program PYTHONDONTWRITEBYTECODE=1 MPLBACKEND=agg
exec "$venv/bin/python" -m pytest "$source/tests/python"
