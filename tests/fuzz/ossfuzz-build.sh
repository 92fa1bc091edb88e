#!/bin/bash -eu
# ossfuzz-build.sh - the build script of an OSS-Fuzz project: build.sh runs it in the source folder.
# The service sets CC, CFLAGS, LIB_FUZZING_ENGINE, WORK and OUT.  Its image needs the packages of
# `scripts/setup build`.
cd "$(dirname "$0")/../.."
cmake -S . -B "$WORK/kerbin" -DKERBIN_FUZZ=ON -DKERBIN_FUZZ_ENGINE="$LIB_FUZZING_ENGINE" \
    -DCMAKE_BUILD_TYPE=None -DCMAKE_C_COMPILER="$CC" -DCMAKE_C_FLAGS="$CFLAGS"
for source in tests/fuzz/target_*.c; do
    name=$(basename "$source" .c)
    name=${name#target_}
    cmake --build "$WORK/kerbin" -j "$(nproc)" --target "fuzz_$name"
    cp "$WORK/kerbin/tests/fuzz/fuzz_$name" "$OUT/"
    seeds=("tests/fuzz/corpus/$name"/*)
    [ "$name" != model ] || seeds+=(tests/golden/*.kerbin)
    python3 - "$OUT/fuzz_${name}_seed_corpus.zip" "${seeds[@]}" << 'PYTHON'
import os, sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as out:
    for path in sys.argv[2:]:
        if os.path.isfile(path):
            out.write(path, os.path.basename(path))
PYTHON
done
# The service runs the programs where these libraries are not installed.
mkdir -p "$OUT/lib"
for library in bz2 z lzma zstd jansson xxhash; do
    cp -L "$(ldconfig -p | sed -n "s|.*lib$library\.so\.[0-9]* .* => ||p" | head -n 1)" "$OUT/lib/" || true
done
