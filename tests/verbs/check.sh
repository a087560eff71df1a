#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check.sh [BUILD]: the verbs wire on software devices, RoCE (rdma_rxe) and
# iWARP (siw), in emulated machines with Debian's own kernel, so that the host's
# kernel need not support them: in one machine (cases.sh), and then in two with
# a wire between them (hosts.sh). Prints one line per case as soon as it is
# known, and their number. KINDS=rxe selects.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=${1:-build}
kernel=$build/verbs-kernel
work=
counter=
machines=
bad=0

skip_all() { # why
    echo "check-verbs: skipped, $*"
    exit 0
}

# Machines catch SIGTERM, and end their processes.
# shellcheck disable=SC2317,SC2086 # the trap calls it; words of pids
clean() {
    trap '' INT TERM
    test -z "$machines$counter" || kill $machines $counter 2>/dev/null || true
    test -z "$machines$counter" || wait $machines $counter || true
    test -z "$work" || rm -rf "$work"
}

record_verdict() { # kind | verdict | case | in a word
    printf '%-4s %-7s %-46s %s\n' "$@"
}

# Copies the lines of the cases, and prints the counts at the end.
count() {
    ok=0 skipped=0 failed=0 begin=$(date +%s)
    while IFS= read -r line; do
        printf '%s\n' "$line"
        case $line in
        ????' ok '*) ok=$((ok + 1)) ;;
        ????' skipped '*) skipped=$((skipped + 1)) ;;
        ????' FAILED '*) failed=$((failed + 1)) ;;
        esac
    done
    echo "check-verbs: $((ok + skipped + failed)) cases: $ok ok," \
        "$skipped skipped, $failed failed, in $(($(date +%s) - begin)) s"
    test "$failed" = 0
}

boot() { # kind | cases | options of vm.sh; $! is then the machine
    kind=$1 cases=$2
    shift 2
    "$here/vm.sh" "$@" "$kind" "$kernel" "$here/$cases" "$build/unit" \
        "$build/collrun" &
    machines="$machines $!"
}

# A machine without a complete report is a failed case. Its console has been
# printed.
await() { # kind | cases
    for machine in $machines; do
        status=0
        wait "$machine" || status=$?
        test "$status" = 0 || bad=1
        test "$status" -lt 124 ||
            record_verdict "$1" FAILED "a machine for $2" "ended with status $status"
    done
    machines=
}

one() { # kind
    boot "$1" cases.sh -t 240
    await "$1" cases.sh
}

# Each waits for the other, and the listening one comes first.
two() { # kind
    wire=addr.type=unix,addr.path=$work/wire
    boot "$1" hosts.sh -t 150 -a 10.77.0.1 -n "stream,server=on,$wire"
    until [ -e "$work/wire" ] || ! kill -0 "$!" 2>/dev/null; do
        sleep 0.05
    done
    boot "$1" hosts.sh -t 150 -a 10.77.0.2 -n "stream,server=off,$wire"
    await "$1" hosts.sh
    rm -f "$work/wire"
}

make_kernel() { # kind
    "$here/kernel.sh" "$kernel" "$1" >"$work/log" 2>&1
}

check() { # kind
    status=0
    make_kernel "$1" || status=$?
    case $status in
    0)
        one "$1"
        two "$1"
        ;;
    69) record_verdict "$1" skipped "all of it" "$(tail -n 1 "$work/log")" ;;
    *)
        record_verdict "$1" FAILED "its kernel" ""
        tail -n 20 "$work/log" | sed 's/^/        /'
        ;;
    esac
}

test "$(uname -m)" = x86_64 || skip_all "the machine that it boots is an x86-64"
for program in apt-get qemu-system-x86_64 busybox modprobe xz rdma tc; do
    command -v "$program" >/dev/null || skip_all "there is no $program"
done
trap clean EXIT
trap 'exit 130' INT TERM
work=$(mktemp -d)
test -e "$kernel/version" || echo "check-verbs: gets Debian's kernel, once"
make_kernel rxe || test $? != 69 || skip_all "$(tail -n 1 "$work/log")"

mkfifo "$work/verdicts"
count <"$work/verdicts" &
counter=$!
exec 3>&1 >"$work/verdicts"
for kind in ${KINDS:-rxe siw}; do
    check "$kind"
done
exec >&3
wait "$counter" || bad=1
counter=
exit "$bad"
