#!/bin/bash
# docker.sh - builds packaging/Dockerfile without Docker's daemon, by buildah, and uses the image.  The image
# that it begins with is a Debian root from debootstrap, under the name debian:12-slim.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
needs buildah git
[ "$(debian_release)" = bookworm ] || skip "packaging/Dockerfile begins with Debian 12"
clean_root "$(dpkg --print-architecture)" base
echo "deb $(debian_mirror) bookworm main" > "$WORK/base/etc/apt/sources.list"
build() {
    buildah --storage-driver vfs --root "$WORK/images" --runroot "$WORK/run" "$@"
}
trap 'build rm --all > /dev/null 2>&1 || true; rm -rf --one-file-system "$WORK"' EXIT
base=$(build from scratch)
build add -q "$base" "$WORK/base" / > /dev/null
build commit -q "$base" debian:12-slim > /dev/null
mkdir "$WORK/tree"
git -C "$SOURCE" archive HEAD | tar -x -C "$WORK/tree"
build bud --isolation chroot --pull-never -f packaging/Dockerfile -t kerbin "$WORK/tree" > "$WORK/log" 2>&1 ||
    { tail -n 20 "$WORK/log" && exit 1; }

# What `docker run kerbin ARG..` does.
used=$(build from --pull-never kerbin)
entry=$(build inspect --format '{{.OCIv1.Config.Entrypoint}} {{.OCIv1.Config.User}} {{.OCIv1.Config.WorkingDir}}' "$used")
[ "$entry" = "[kerbin] kerbin /data" ] || { echo "the image starts $entry" >&2; exit 1; }
in_image() {
    build run --isolation chroot "$used" -- "$@"
}
in_image kerbin --version
[ "$(in_image id -un)" = kerbin ]
in_image sh -c "cd /tmp && $MODELS" > "$WORK/here"
PATH=$SOURCE/build:$PATH bash -c "$MODELS" > "$WORK/reference"
diff "$WORK/reference" "$WORK/here" || { echo "the image writes other models" >&2; exit 1; }
at=$(build mount "$used")
[ ! -e "$at/usr/bin/gcc" ]
size=$(du -sm "$at" | cut -f 1) base=$(du -sm "$WORK/base" | cut -f 1)
echo "the image has $size MB, of which $base MB are the base"
