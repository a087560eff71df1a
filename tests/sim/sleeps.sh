#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Pauses at every step of the protocols, in the simulator: a process is stopped
# until it is declared dead, and resumes with all messages that arrived
# meanwhile and with late timers. Each node of a ring, and each worker, server
# and controller of parameter servers, is paused alone, beginning at every STEP
# of the time. Two are paused at once. One is paused again while it joins, or is
# killed there and started again. At the end every process must be a member, and
# every sum right.
#
#   tests/sim/sleeps.sh [STEP_MS [SEED]]                 (B=build)
#
# Prints the number of schedules, and the `ringctl sim` command that repeats
# each failing one; then the status is 1.
set -u
cd "$(dirname "$0")/../.." || exit 1
step=${1:-10}
seed=${2:-1}
build=${B:-build}
long=900 # ms: more than it takes to be declared dead

failures=$(mktemp)
trap 'rm -f "$failures"' EXIT
count=0

# try WORLD FAULTS
try() {
    local faults=${2%; }
    count=$((count + 1))
    "$build/ringctl" sim "$1" --seed $((seed + count % 5)) --for 4s \
        --faults "$faults" >/dev/null 2>&1 && return
    echo "ringctl sim $1 --seed $((seed + count % 5)) --for 4s --faults '$faults'" |
        tee -a "$failures"
}

# alone WORLD NODE...: each of them, beginning at every step of half a second.
alone() {
    local cluster=$1 at node
    shift
    for node; do
        for ((at = 200; at < 700; at += step)); do
            try "$cluster" "at ${at}ms pause $node for ${long}ms"
        done
    done
}

# pair WORLD A B: both, one a little later.
pair() {
    local at
    for ((at = 200; at < 400; at += step)); do
        try "$1" "at 200ms pause $2 for ${long}ms; at ${at}ms pause $3 for ${long}ms"
    done
}

# again WORLD NODE: at every step of its join after it resumes.
again() {
    local at
    for ((at = 1100; at < 1500; at += step)); do
        try "$1" "at 200ms pause $2 for ${long}ms; at ${at}ms pause $2 for ${long}ms"
        try "$1" "at 200ms pause $2 for ${long}ms; at ${at}ms crash $2; at 2s restart $2"
    done
}

alone ring 0 1 2 3
pair ring 1 2
pair ring 0 3
again ring 2
alone servers w0 w1 s0 s1 s2 c0 c1
pair servers w0 s0
pair servers s0 s1
pair servers s1 c0
again servers w1
again servers s2
echo "sleeps: $count schedules, $(wc -l <"$failures") failures"
[ ! -s "$failures" ]
