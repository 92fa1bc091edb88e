# lib.sh - what the tests of installed copies share.  They are long, and need root: `make test-install`.
# shellcheck shell=bash
SOURCE=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
CACHE=${KERBIN_INSTALL_CACHE:-$SOURCE/build-install} # clean roots and wheels of others are kept there
mkdir -p "$CACHE"
WORK=$(mktemp -d "$CACHE/work.XXXXXX")
trap 'rm -rf --one-file-system "$WORK"' EXIT

skip() {
    echo "skipped: $*"
    exit 77
}

needs() {
    for tool in "$@"; do
        command -v "$tool" > /dev/null || skip "$tool is missing"
    done
}

# Where this machine has its Debian packages from, and of which release.
debian_mirror() {
    apt-get indextargets --format '$(SITE) $(RELEASE)' 'Created-By: Packages' 2> /dev/null |
        awk -v release="$(debian_release)" '$2 == release { print $1; exit }'
}
debian_release() {
    (. /etc/os-release && echo "${VERSION_CODENAME:-}")
}

# clean_root ARCHITECTURE NAME PACKAGE.. - a Debian root of these packages and what every root has, in WORK/NAME.
clean_root() {
    local arch=$1 name=$2 list kept
    shift 2
    needs debootstrap unshare chroot
    [ "$(id -u)" -eq 0 ] || skip "only root can make a clean root"
    [ -n "$(debian_mirror)" ] || skip "this is not Debian, or apt has no lists"
    list=$(IFS=, && echo "$*")
    kept=$CACHE/root-$arch-$(debian_release)-$(echo "$list" | cksum | cut -d ' ' -f 1).tar
    if [ ! -e "$kept" ]; then
        rm -rf "$WORK/new"
        debootstrap --variant=minbase --arch="$arch" ${list:+--include="$list"} "$(debian_release)" "$WORK/new" \
            "$(debian_mirror)" > "$WORK/debootstrap.log" 2>&1 ||
            { tail -n 5 "$WORK/debootstrap.log" && skip "debootstrap cannot make a root for $arch"; }
        rm -f "$WORK"/new/var/cache/apt/archives/*.deb
        tar -c -C "$WORK/new" -f "$kept.part" . && mv "$kept.part" "$kept"
        rm -rf "$WORK/new"
    fi
    mkdir -p "$WORK/$name"
    tar -x -C "$WORK/$name" -f "$kept"
}

# A program of this machine's kind, or one that binfmt_misc gives to qemu.
can_run() {
    [ "$1" = "$(dpkg --print-architecture)" ] && return
    needs qemu-aarch64-static update-binfmts
    mountpoint -q /proc/sys/fs/binfmt_misc || mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc ||
        skip "the kernel has no binfmt_misc"
    update-binfmts --enable qemu-aarch64 2> /dev/null || true
    grep -qs enabled /proc/sys/fs/binfmt_misc/qemu-aarch64 || skip "qemu-aarch64 is not registered"
}

# in_root NAME COMMAND.. - with nothing of this machine's environment, and without its network.
in_root() {
    local root=$WORK/$1
    shift
    unshare -m ${NETWORK:---net} bash -c 'mount -t proc proc "$1/proc" && mount --bind /dev "$1/dev" && root=$1 &&
        shift && exec chroot "$root" /usr/bin/env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/root \
        LC_ALL=C.UTF-8 "$@"' bash "$root" "$@"
}

# Neither a compiler nor the headers of C are in the root.
is_bare() {
    local found
    found=$(cd "$WORK/$1" && find usr/bin usr/include -name 'gcc*' -o -name cc -o -name clang -o -name stdio.h)
    [ -z "$found" ] || { echo "the root is not bare: $found" >&2; exit 1; }
}

# the_wheel PLATFORM - the one that `make wheels` left in dist.
the_wheel() {
    local found
    found=$(find "$SOURCE/dist" -name "kerbin-*$1*.whl" 2> /dev/null | head -n 1)
    [ -n "$found" ] || skip "no wheel for $1 in dist: make wheels"
    echo "$found"
}

# Models of many kinds and predictions with them, by the kerbin that is on the PATH: their checksums are the
# same for every machine.
MODELS=$(
    cat << 'END'
set -e
cd "$(mktemp -d)"
kerbin generate checkers --rows 1500 --noise 0.05 --seed 1 -o train.csv > /dev/null
kerbin generate checkers --rows 500 --seed 2 -o test.csv > /dev/null
kerbin generate friedman --rows 1000 --noise 0.1 --seed 3 -o numbers.csv > /dev/null
n=0
for options in "" "--loss logistic" "--loss squared-hinge" "--solver sweeps" "--penalty l1 --lambda 0.01" \
    "--penalty l1 --loss logistic --lambda 0.01" "--map fourier --grids 100" "--map nystrom --grids 100" \
    "--solver gmres" "--sigma 0.1 --threads 3"; do
    n=$((n + 1))
    kerbin train -q --tune off $options -o "$n.kerbin" train.csv > /dev/null
    kerbin predict -q --output probability -o "$n.csv" "$n.kerbin" test.csv > /dev/null 2>&1
done
for options in "" "--loss quantile --quantile 0.9" "--loss absolute" "--solver sweeps"; do
    n=$((n + 1))
    kerbin train -q --tune off $options -o "$n.kerbin" numbers.csv > /dev/null
    kerbin predict -q -o "$n.csv" "$n.kerbin" numbers.csv > /dev/null 2>&1
done
kerbin train -q -o tuned.kerbin train.csv > /dev/null
kerbin predict -q -o tuned.csv tuned.kerbin test.csv > /dev/null 2>&1
sha256sum *.kerbin *.csv
END
)

# fetch_debian ARCHITECTURE PACKAGE DIR - a package of that kind of machine, unpacked.
fetch_debian() {
    local at=$CACHE/debs-$1 apt
    mkdir -p "$at/lists/partial" "$at/cache/archives/partial"
    apt=(apt-get -qq -o "APT::Architecture=$1" -o "APT::Architectures::=$1" -o "Dir::State::lists=$at/lists"
        -o "Dir::Cache=$at/cache" -o APT::Sandbox::User=)
    if ! compgen -G "$at/$2_*.deb" > /dev/null; then
        (cd "$at" && "${apt[@]}" update && "${apt[@]}" download "$2") > "$WORK/log" 2>&1 ||
            { tail -n 3 "$WORK/log" && skip "$2 for $1 cannot be fetched"; }
    fi
    dpkg -x "$at/$2"_*.deb "$3"
}
