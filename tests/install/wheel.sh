#!/bin/bash
# wheel.sh amd64|arm64 - a clean Debian root without compiler, headers and network: the wheel is installed by
# pip, trains and predicts, and writes the models that this machine's build/kerbin writes.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
arch=$1
case $arch in
amd64) machine=x86_64 ;;
arm64) machine=aarch64 ;;
esac
wheel=$(the_wheel "manylinux*_$machine") || { echo "$wheel" && exit 77; }
can_run "$arch"
clean_root "$arch" bare python3 python3-venv
is_bare bare

# What the wheel asks for, fetched for that machine beforehand.
python=$(in_root bare python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
others=$CACHE/wheels-$arch-$python
if [ ! -e "$others/complete" ]; then
    [ -e "$CACHE/pip/bin/pip" ] || python3 -m venv "$CACHE/pip" || skip "python3 cannot make a virtual environment"
    "$CACHE/pip/bin/pip" download -q --disable-pip-version-check --only-binary=:all: --python-version "$python" \
        --platform "manylinux_2_17_$machine" --platform "manylinux2014_$machine" \
        --platform "manylinux_2_27_$machine" --platform "manylinux_2_28_$machine" -d "$others" "$wheel" ||
        skip "the packages that kerbin needs cannot be fetched"
    rm -f "$others"/kerbin-*
    touch "$others/complete"
fi
mkdir -p "$WORK/bare/wheels"
cp "$others"/*.whl "$wheel" "$WORK/bare/wheels"

in_root bare python3 -m venv /venv
in_root bare /venv/bin/pip install -q --no-index --find-links /wheels "/wheels/$(basename "$wheel")"
in_root bare /venv/bin/kerbin --version
[ "$(in_root bare /venv/bin/python -m kerbin --version)" = "$(in_root bare /venv/bin/kerbin --version)" ]
in_root bare /venv/bin/python -W ignore - < "$SOURCE/debian/tests/estimators"
in_root bare env PATH=/venv/bin:/usr/bin:/bin bash -c "$MODELS" > "$WORK/here"
PATH=$SOURCE/build:$PATH bash -c "$MODELS" > "$WORK/reference"
[ "$(wc -l < "$WORK/here")" -gt 20 ]
diff "$WORK/reference" "$WORK/here" || { echo "$arch writes other models" >&2; exit 1; }
echo "$arch: $(grep -c kerbin$ "$WORK/here") models are those of build/kerbin"
