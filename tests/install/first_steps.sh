#!/bin/bash
# first_steps.sh - the README's first command in a clean Debian root that has make: what it prints at its end
# works as typed.  `make test` follows with KERBIN_FIRST_TEST=1, which takes many minutes.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
needs git
clean_root "$(dpkg --print-architecture)" first make
cp /etc/resolv.conf "$WORK/first/etc"
echo "deb $(debian_mirror) $(debian_release) main" > "$WORK/first/etc/apt/sources.list"
mkdir "$WORK/first/kerbin"
git -C "$SOURCE" archive HEAD | tar -x -C "$WORK/first/kerbin"
export NETWORK=" "
in_root first make -C /kerbin demo > "$WORK/demo" 2> "$WORK/errors" || { tail -n 5 "$WORK/errors" && exit 1; }
sed -n '/^Now tuned/,$s/^  \$ //p' "$WORK/demo" > "$WORK/typed"
[ "$(wc -l < "$WORK/typed")" -ge 3 ]
cat "$WORK/typed"
{ echo cd /kerbin && cat "$WORK/typed"; } > "$WORK/first/typed"
in_root first sh -e /typed > "$WORK/log" 2>&1 || { tail -n 5 "$WORK/log" && exit 1; }
if [ -n "${KERBIN_FIRST_TEST:-}" ]; then
    in_root first make -C /kerbin test > "$WORK/log" 2>&1 || { tail -n 40 "$WORK/log" && exit 1; }
    grep 'tests passed' "$WORK/log"
fi
