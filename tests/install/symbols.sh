#!/bin/bash
# symbols.sh LIBRARY SOURCE - the library exports the functions that kerbin.h declares, and nothing else;
# debian/libkerbin0.symbols lists the same, and the library's soname is in the name of that file.
set -euo pipefail
library=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Types of functions are no functions.
grep -v '^typedef' "$source/include/kerbin.h" | grep -oE '\bkb_[a-z0-9_]+\(' | tr -d '(' |
    LC_ALL=C sort -u > "$work/declared"
nm -D --defined-only "$library" | awk '{ print $NF }' | LC_ALL=C sort -u > "$work/exported"
diff "$work/declared" "$work/exported" || {
    echo "kerbin.h declares what is marked <, $library exports what is marked >" >&2
    exit 1
}
[ "$(wc -l < "$work/exported")" -gt 90 ] # something was compared

soname=$(objdump -p "$library" | awk '$1 == "SONAME" { print $2 }')
listed=$source/debian/libkerbin${soname##*.}.symbols
[ -e "$listed" ] || { echo "no $listed for $soname" >&2; exit 1; }
head -n 1 "$listed" | grep -q "^$soname " || { echo "$listed is not of $soname" >&2; exit 1; }
sed -n 's/^ \([a-z0-9_]*\)@Base .*/\1/p' "$listed" | LC_ALL=C sort -u > "$work/listed"
diff "$work/listed" "$work/exported" || {
    echo "$listed lists what is marked <, $library exports what is marked >" >&2
    exit 1
}
