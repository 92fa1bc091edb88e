#!/bin/bash
# endian.sh PROGRAM SOURCE - a big-endian machine is refused when kerbin is compiled: its model files
# would be wrong.
root=$(cd "$2" && pwd)
. "$(dirname "$0")/../cli/lib.sh"
compiler=powerpc64-linux-gnu-gcc
command -v "$compiler" > /dev/null || {
    echo "skipped: there is no $compiler"
    exit 77
}
flags=(-std=c17 -fsyntax-only -I "$root/include" -I "$root/src" -idirafter /usr/include "$root/src/model/tensors.c")
command="cc ${flags[*]}"
cc "${flags[@]}" 2> stderr || fail "the compiler of this machine refuses it"
command="$compiler ${flags[*]}"
"$compiler" "${flags[@]}" 2> stderr && fail "it is compiled"
expect_stderr 'static assertion failed: "model files are little endian"'
[ "$(grep -c 'error:' stderr)" -eq 1 ] || fail "other errors"
end
