# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# A clean Debian root in the folder $root, made by debootstrap, with an ordinary
# user. Needs root, and a mirror for apt (MIRROR; by default debootstrap's own).

work=$(mktemp -d)
root=$work/root
leave_root() {
    umount "$root/proc" "$root/dev/shm" "$root/dev/pts" 2>/dev/null || true
}
trap 'leave_root
    rm -rf --one-file-system "$work"' EXIT
trap 'exit 130' HUP INT PIPE TERM

say() {
    printf '== %s\n' "$*"
}

inside() {
    chroot "$root" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"
}

as_user() {
    inside runuser -u somebody -- sh -euc "cd; $1"
}

# make_root: apt in the root uses the same sources as apt here.
make_root() {
    say "debootstrap"
    # shellcheck disable=SC2086 # a word, or none
    debootstrap --variant=minbase "${SUITE:-bookworm}" "$root" ${MIRROR-} >"$work/root.log"
    cp -r /etc/apt/apt.conf.d "$root/etc/apt/"
    cp /etc/resolv.conf /etc/hosts "$root/etc/"
    mount -t proc proc "$root/proc"
    mkdir -p "$root/dev/shm" "$root/dev/pts"
    mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
    ln -sf pts/ptmx "$root/dev/ptmx"
    inside useradd -m somebody
    inside apt-get update -qq
}
