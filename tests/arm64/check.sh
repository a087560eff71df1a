#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check.sh BUILD: builds the unit tests of unit.mk for arm64 and runs them under
# qemu-user: the NEON kernels, on machines without NEON. The static libraries
# for arm64 (Check, jansson, expat) are Debian packages, fetched by an apt with its own
# lists in BUILD: the system's architectures do not change. If a requirement is
# missing, it is reported, and the check is skipped.
set -u
build=$(realpath "${1:-build}")/arm64
root=$build/root
state=$build/apt

skip() {
    echo "check-arm64: skipped: $*"
    exit 0
}

apt_arm64() {
    apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 \
        -o Dir::State="$state" -o Dir::State::status="$state/status" \
        -o Dir::Cache="$state/cache" -o APT::Sandbox::User=root "$@"
}

# Downloads into $root, completely or not at all.
fetch() {
    rm -rf "$state" "$root"
    mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$root.new"
    : >"$state/status"
    apt_arm64 update || return 1
    (cd "$state" && apt_arm64 download check libsubunit-dev libjansson-dev libexpat1-dev) || return 1
    for package in "$state"/*.deb; do
        dpkg-deb -x "$package" "$root.new" || return 1
    done
    mv "$root.new" "$root"
    rm -rf "$state"
}

test "$(uname -m)" != aarch64 || skip "this is arm64: make check runs them"
.ci/deps arm64 || skip "a compiler, a C library and qemu-user for arm64 cannot be had here"
test -e "$root/usr/include/expat.h" || fetch >&2 || skip "Check for arm64 cannot be had here"
make --no-print-directory -f tests/arm64/unit.mk B="$build" ROOT="$root" || exit 1
CK_DEFAULT_TIMEOUT=600 qemu-aarch64 -L /usr/aarch64-linux-gnu "$build/unit"
