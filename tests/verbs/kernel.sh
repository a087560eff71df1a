#!/bin/sh
# SPDX-License-Identifier: MIT
#
# kernel.sh FOLDER KIND: puts a kernel with software RDMA of this kind into
# FOLDER: vmlinux, version and modules, from Debian's own kernel package, which
# is unpacked and not installed. rdma_rxe is in it; siw is not, so it is
# compiled from Debian's source for that kernel. Existing files are kept. Status
# 69, and an error: the packages are not available here.
#
# A packaged kernel decompresses itself, which costs an emulated machine
# seconds: vmlinux is the kernel inside.
set -eu

to=$1
kind=$2
package=${KERNEL:-linux-image-amd64}
mkdir -p "$to"
to=$(cd "$to" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

missing() { # what
    echo "$* cannot be had here (apt-get update?)"
    exit 69
}

fetch() { # packages, unpacked into the folder $1
    into=$1
    shift
    mkdir -p "$work/deb" "$into"
    (cd "$work/deb" && apt-get -qq -o APT::Sandbox::User=root download "$@") ||
        missing "Debian's packages $*"
    for deb in "$work"/deb/*.deb; do
        dpkg -x "$deb" "$into"
    done
    rm -rf "$work/deb"
}

# The xz stream in the image that is an ELF file.
unwrap() {
    LC_ALL=C grep -abo "$(printf '\3757zXZ')" "$1" | cut -d: -f1 |
        while read -r at; do
            tail -c +$((at + 1)) "$1" | xz -dc 2>/dev/null >"$work/inside" || true
            if [ "$(head -c 4 "$work/inside" | tail -c 3)" = ELF ]; then
                cp "$work/inside" "$2"
                break
            fi
        done
    test -e "$2" || cp "$1" "$2"
}

get_kernel() {
    image=$(apt-cache depends "$package" 2>/dev/null |
        sed -n 's/^ *Depends: \(linux-image-[0-9][^ ]*\)$/\1/p' | head -1)
    test -n "$image" || missing "Debian's package $package"
    version=${image#linux-image-}
    fetch "$work/kernel" "$image"
    tree=$work/kernel/lib/modules/$version
    rm -rf "${to:?}/lib"
    mkdir -p "$to/lib/modules/$version"
    for part in arch/x86/crypto crypto lib net fs/configfs drivers/infiniband \
        drivers/net/dummy.ko drivers/net/dummy.ko.xz drivers/net/virtio_net.ko \
        drivers/net/virtio_net.ko.xz drivers/net/net_failover.ko \
        drivers/net/net_failover.ko.xz drivers/virtio; do
        test -e "$tree/kernel/$part" || continue
        mkdir -p "$to/lib/modules/$version/kernel/$(dirname "$part")"
        cp -r "$tree/kernel/$part" "$to/lib/modules/$version/kernel/$part"
    done
    cp "$tree"/modules.order "$tree"/modules.builtin* "$to/lib/modules/$version/"
    unwrap "$work/kernel/boot/vmlinuz-$version" "$to/vmlinux"
    depmod -b "$to" "$version"
    echo "$version" >"$to/version"
}

get_siw() {
    version=$(cat "$to/version")
    series=$(echo "$version" | cut -d. -f1,2)
    common=${version%-amd64}
    source=$work/source/usr/src/linux-source-$series.tar.xz
    headers=$work/headers/usr/src
    fetch "$work/headers" "linux-headers-$version" \
        "linux-headers-$common-common" "linux-kbuild-$series"
    fetch "$work/source" "linux-source-$series"
    mkdir "$work/tree"
    xz -dc "$source" | tar -x -C "$work/tree" --strip-components=1 --wildcards \
        "linux-source-$series/drivers/infiniband/sw/siw/*"
    echo "include $headers/linux-headers-$common-common/Makefile" \
        >"$headers/linux-headers-$version/Makefile"
    env -u MAKEFLAGS -u MAKELEVEL make -s -C "$headers/linux-headers-$version" \
        M="$work/tree/drivers/infiniband/sw/siw" CONFIG_RDMA_SIW=m modules \
        >"$work/log" 2>&1 || {
        tail -20 "$work/log"
        exit 1
    }
    mkdir -p "$to/lib/modules/$version/updates"
    strip --strip-debug -o "$to/lib/modules/$version/updates/siw.ko" \
        "$work/tree/drivers/infiniband/sw/siw/siw.ko"
    depmod -b "$to" "$version"
    touch "$to/siw"
}

test -e "$to/version" || get_kernel
test "$kind" != siw || test -e "$to/siw" || get_siw
