#!/bin/bash
# source.sh - `pip install` of the source archive in a fresh environment, and `make install` from it into an empty
# prefix: the program, Python and C programs work.  The compiler and packages are those of this machine.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
needs git python3 cmake make cc pkg-config
"$SOURCE/packaging/dist" -o "$WORK/dist" > /dev/null 2>&1
archive=$(echo "$WORK"/dist/kerbin-*.tar.gz)

python3 -m venv "$WORK/venv" || skip "python3 cannot make a virtual environment"
"$WORK/venv/bin/pip" install -q --disable-pip-version-check "$archive" > "$WORK/log" 2>&1 ||
    { tail -n 5 "$WORK/log" && exit 1; }
(cd "$WORK" && venv/bin/python -W ignore "$SOURCE/debian/tests/estimators")
"$WORK/venv/bin/kerbin" --version
[ "$(cd "$WORK" && venv/bin/python -m kerbin --version)" = "$("$WORK/venv/bin/kerbin" --version)" ]

mkdir "$WORK/tree"
tar -x -C "$WORK/tree" --strip-components 1 -f "$archive"
make -C "$WORK/tree" install PREFIX="$WORK/prefix" > "$WORK/log" 2>&1 || { tail -n 20 "$WORK/log" && exit 1; }
"$SOURCE/tests/install/run.sh" "$WORK/tree/build" "$SOURCE"
cmp "$WORK/prefix/bin/kerbin" "$WORK/tree/build/kerbin"
