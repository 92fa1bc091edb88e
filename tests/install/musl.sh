#!/bin/bash
# musl.sh amd64|arm64 - the program and the library of the wheel for musl, with Debian's musl in a clean root.
# Debian has no Python for musl, so that pip is not tried here.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
arch=$1
case $arch in
amd64) machine=x86_64 ;;
arm64) machine=aarch64 ;;
esac
wheel=$(the_wheel "musllinux*_$machine") || { echo "$wheel" && exit 77; }
can_run "$arch"
clean_root "$arch" bare python3 python3-venv
is_bare bare
fetch_debian "$arch" musl "$WORK/bare/musl"
libc=$(find "$WORK/bare/musl" -name libc.so -type f | head -n 1)
mkdir -p "$WORK/bare/usr/lib/$machine-linux-musl"
cp "$libc" "$WORK/bare/usr/lib/$machine-linux-musl/libc.so"
ln -s "/usr/lib/$machine-linux-musl/libc.so" "$WORK/bare/usr/lib/ld-musl-$machine.so.1"
python3 -m zipfile -e "$wheel" "$WORK/bare/wheel"
mkdir -p "$WORK/bare/usr/local/bin"
cp "$WORK"/bare/wheel/kerbin-*.data/scripts/kerbin "$WORK/bare/usr/local/bin"
chmod +x "$WORK/bare/usr/local/bin/kerbin"

in_root bare kerbin --version
# The loader of musl resolves every symbol and says which it does not find.
in_root bare "/lib/ld-musl-$machine.so.1" --list /wheel/kerbin/libkerbin.so | tee "$WORK/list"
! grep -q 'Error' "$WORK/list"
grep -q "ld-musl-$machine" "$WORK/list"
in_root bare bash -c "$MODELS" > "$WORK/here"
PATH=$SOURCE/build:$PATH bash -c "$MODELS" > "$WORK/reference"
diff "$WORK/reference" "$WORK/here" || { echo "musl on $arch writes other models" >&2; exit 1; }
echo "musl on $arch: $(grep -c kerbin$ "$WORK/here") models are those of build/kerbin"
