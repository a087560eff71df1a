#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check.sh [BUILD]: the verbs wire on devices that software makes, RoCE
# (rdma_rxe) and iWARP (siw), in emulated machines with Debian's own kernel, so
# that the kernel here need not know them: in one (cases.sh), and then in two with
# a wire between them (hosts.sh). A line a case. KINDS=rxe chooses.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=${1:-build}
kernel=$build/verbs-kernel
bad=0

skip() {
    echo "check-verbs: skipped, $*"
    exit 0
}

test "$(uname -m)" = x86_64 || skip "the machine that it boots is an x86-64"
command -v apt-get >/dev/null || skip "the kernel that it boots comes by apt"
for program in qemu-system-x86_64 busybox modprobe xz rdma; do
    command -v "$program" >/dev/null || skip "there is no $program"
done
"$here/kernel.sh" "$kernel"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

boot() { # options of vm.sh | kind | cases
    cases=$here/$3
    # shellcheck disable=SC2086 # words of options
    "$here/vm.sh" $1 "$2" "$kernel" "$cases" "$build/unit" "$build/collrun"
}

one() { # kind
    boot "-t 240" "$1" cases.sh >"$work/log" 2>&1 || bad=1
    sed "s/^/$1  /" "$work/log"
}

# Both wait for each other, and the one that listens comes first.
two() { # kind
    wire=addr.type=unix,addr.path=$work/wire
    boot "-t 150 -n stream,server=on,$wire -a 10.77.0.1" "$1" hosts.sh \
        >"$work/first" 2>&1 &
    first=$!
    until [ -e "$work/wire" ] || ! kill -0 "$first" 2>/dev/null; do
        sleep 0.05
    done
    boot "-t 150 -n stream,server=off,$wire -a 10.77.0.2" "$1" hosts.sh \
        >"$work/second" 2>&1 || bad=1
    wait "$first" || bad=1
    cat "$work/first" "$work/second" | sed "s/^/$1  /"
    rm -f "$work/wire"
}

for kind in ${KINDS:-rxe siw}; do
    one "$kind"
    two "$kind"
done
exit "$bad"
