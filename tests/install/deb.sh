#!/bin/bash
# deb.sh - the Debian packages of dist in a clean root: the program, the Python package and a C program built
# with the header and each of the libraries.  apt resolves what they depend on.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
ls "$SOURCE"/dist/*.deb > /dev/null 2>&1 || skip "no packages in dist: make debs"
clean_root "$(dpkg --print-architecture)" apt
mkdir "$WORK/apt/debs"
cp "$SOURCE"/dist/*.deb "$WORK/apt/debs"
cp /etc/resolv.conf "$WORK/apt/etc"
echo "deb $(debian_mirror) $(debian_release) main" > "$WORK/apt/etc/apt/sources.list"
install_packages() {
    NETWORK=" " in_root apt sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
        --no-install-recommends "$@"' sh "$@" > "$WORK/log" 2>&1 || { tail -n 5 "$WORK/log" && exit 1; }
}

# The program and the library alone bring neither compiler nor Python.
install_packages $(cd "$WORK/apt" && ls debs/kerbin_* debs/libkerbin0_* | sed 's,^,/,')
is_bare apt
in_root apt sh -e - < "$SOURCE/debian/tests/program"
in_root apt bash -c "$MODELS" > "$WORK/here"
PATH=$SOURCE/build:$PATH bash -c "$MODELS" > "$WORK/reference"
diff "$WORK/reference" "$WORK/here" || { echo "the package writes other models" >&2; exit 1; }

install_packages $(cd "$WORK/apt" && ls debs/python3-kerbin_*.deb | sed 's,^,/,')
in_root apt python3 -W ignore - < "$SOURCE/debian/tests/estimators"

install_packages $(cd "$WORK/apt" && ls debs/libkerbin-dev_*.deb | sed 's,^,/,') gcc libc6-dev pkg-config cmake make
cp -r "$SOURCE/examples" "$WORK/apt/examples"
in_root apt sh -e - << 'END'
cd /tmp
cmake -S /examples -B examples > /dev/null
cmake --build examples > /dev/null
examples/train_and_predict shared.kerbin > /dev/null
examples/train_and_predict_static static.kerbin > /dev/null
cc /examples/train_and_predict.c -o by-pkg-config $(pkg-config --cflags --libs kerbin) -lm
./by-pkg-config pc.kerbin > /dev/null
cmp shared.kerbin static.kerbin
cmp shared.kerbin pc.kerbin
END
echo "packages: $(cd "$SOURCE/dist" && echo *.deb)"
