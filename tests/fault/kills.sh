#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Recovery times: members of rings of 4 and 8 are killed, and stopped, in the
# middle of all-reduces, and the distributions are printed; every result is
# checked against the arithmetic oracle. Then a run under load without faults:
# with two busy loops per core no member may be declared dead.
#
#   tests/fault/kills.sh [KILLS [PAUSES [CALM_SECONDS [SEED]]]]
#
# To test the documented limits: 200 kills (100 per ring), 40 pauses, 600 s.
set -eu
cd "$(dirname "$0")/../.."
build=${B:-build}
kills=${1:-200}
pauses=${2:-40}
calm=${3:-600}
seed=${4:-1}

work=$(mktemp -d)
GRADWIRE_RUNS=$work/runs
export GRADWIRE_RUNS
busy=
finish() {
    for pid in $busy; do
        kill "$pid" 2>/dev/null || true
    done
    "$build/ringctl" --run kills down >/dev/null 2>&1 || true
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' HUP INT PIPE TERM

# ring MEMBERS: a run that only does ops.
ring() {
    "$build/ringctl" up "$1" --name kills ops --bytes 1M >/dev/null 2>&1
}
down() {
    "$build/ringctl" --run kills down >/dev/null
}

for members in 4 8; do
    ring "$members"
    [ "$kills" -lt 2 ] ||
        "$build/kills" kills "$members" $((kills / 2)) "$seed" kill
    [ "$pauses" -lt 2 ] ||
        "$build/kills" kills "$members" $((pauses / 2)) "$seed" pause
    down
done

if [ "$calm" -gt 0 ]; then
    loops=$(($(nproc) * 2))
    while [ "$loops" -gt 0 ]; do
        sh -c 'while :; do :; done' &
        busy="$busy $!"
        loops=$((loops - 1))
    done
    ring 4
    "$build/kills" kills 4 "$calm" "$seed" calm
    down
fi
