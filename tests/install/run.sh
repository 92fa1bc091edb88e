#!/bin/bash
# run.sh BUILD SOURCE - installs into an empty prefix and builds the example against it,
# through CMake and through pkg-config, as a user of the library would.
set -euo pipefail
build=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
cmake --install "$build" --prefix "$prefix" > /dev/null

find_one() {
    local found
    found=$(find "$prefix" -path "*/$1" | head -n 1)
    [ -n "$found" ] || { echo "not installed: $1" >&2; exit 1; }
    echo "$found"
}
for file in bin/kerbin include/kerbin.h share/man/man1/kerbin.1 share/man/man1/kerbin-train.1 \
    share/bash-completion/completions/kerbin share/zsh/site-functions/_kerbin \
    share/fish/vendor_completions.d/kerbin.fish libkerbin.so libkerbin.so.0 \
    libkerbin.a pkgconfig/kerbin.pc cmake/Kerbin/KerbinConfig.cmake \
    cmake/Kerbin/KerbinConfigVersion.cmake; do
    find_one "$file" > /dev/null
done
"$prefix/bin/kerbin" --version

library=$(find_one libkerbin.so)
"$source/tests/install/symbols.sh" "$library" "$source"

# The header stands on its own, in C and in C++ where there is such a compiler.
echo '#include <kerbin.h>' > "$work/alone.c"
cc -std=c99 -pedantic -Wall -Werror -I"$prefix/include" -fsyntax-only "$work/alone.c"
if command -v c++ > /dev/null; then
    c++ -Wall -Werror -I"$prefix/include" -fsyntax-only -x c++ "$work/alone.c"
fi

cmake -S "$source/examples" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" > /dev/null
cmake --build "$work/cmake" > /dev/null
"$work/cmake/train_and_predict" "$work/cmake.kerbin"
"$work/cmake/train_and_predict_static" "$work/static.kerbin"
cp "$work/cmake.kerbin" "$work/first.kerbin"
! "$work/cmake/train_and_predict" "$work/cmake.kerbin" 2> /dev/null
cmp "$work/first.kerbin" "$work/cmake.kerbin" # a file that is there stays

PKG_CONFIG_PATH=$(dirname "$(find_one pkgconfig/kerbin.pc)")
export PKG_CONFIG_PATH
read -ra flags <<< "$(pkg-config --cflags --libs kerbin)"
cc -std=c17 -Wall -Werror "$source/examples/train_and_predict.c" -o "$work/pc" "${flags[@]}" -lm
LD_LIBRARY_PATH=$(dirname "$library") "$work/pc" "$work/pc.kerbin"

# The static library by pkg-config, from a prefix that has no other.
cp -r "$prefix" "$work/archive"
find "$work/archive" -name 'libkerbin.so*' -delete
PKG_CONFIG_PATH=$(dirname "$(find "$work/archive" -name kerbin.pc)")
read -ra flags <<< "$(pkg-config --static --cflags --libs kerbin)"
cc -std=c17 "$source/examples/train_and_predict.c" -o "$work/pc_static" "${flags[@]}"
"$work/pc_static" "$work/pc_static.kerbin"
cmp "$work/cmake.kerbin" "$work/pc_static.kerbin"

# The library that each of them found writes the same model, and the program reads it.
cmp "$work/cmake.kerbin" "$work/static.kerbin"
cmp "$work/cmake.kerbin" "$work/pc.kerbin"
"$prefix/bin/kerbin" inspect "$work/pc.kerbin"
