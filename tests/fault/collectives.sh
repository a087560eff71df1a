#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Members of an elastic ring that are killed while it runs imported plans of
# four collectives, with scratch and channels, over shm and tcp. Each of the
# eight runs checks all elements of all results. A killed member is started
# again; in between the ring has no plan for its size and chooses one.
#
#   tests/fault/collectives.sh [KILLS [SEED]]     make check-collectives N=KILLS
#
# The seed determines the killed members and the times between the kills.
# Prints a table; ops that a death interrupted are decided. Status 1: a result was wrong, a contribution was lost or
# counted twice, or a ring did not go on within 30 s.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$(realpath "${B:-build}")
formats=$PWD/tests/formats
kills=${1:-100}
seed=${2:-$((RANDOM * 32768 + RANDOM + 1))}
limit=30s
RANDOM=$seed

work=$(mktemp -d)
export GRADWIRE_RUNS=$work/runs LC_ALL=C.UTF-8
# shellcheck disable=SC2317,SC2329
finish() {
    "$build/ringctl" down --all >/dev/null 2>&1
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' HUP INT PIPE TERM

ctl() {
    "$build/ringctl" --run kills --timeout $limit "$@" 2>>"$work/log"
}

# fail WORD...: with the end of the log and the status.
fail() {
    echo "seed $seed, $collective over $wire: $*"
    tail -n 5 "$work/log"
    ctl status
    exit 1
}

# value NAME: of the last status
value() {
    grep -o "\"$1\":-\?[0-9]*" "$work/status" | head -n 1 | cut -d: -f2
}

start() { # COLLECTIVE WIRE FILE
    : >"$work/log"
    ctl up "$members" ops --name kills --collective "$1" --wire "$2" \
        --bytes 24K --pace 100us --algo "$formats/$3" >/dev/null ||
        fail "the run did not start"
}

kill_one() {
    local node=$((RANDOM % members))
    sleep "0.$(printf %03d $((RANDOM % 80)))"
    ctl -c "kill $node; wait alive==$((members - 1))" >/dev/null ||
        fail "node $node was killed, and the ring did not go on"
    [ $((RANDOM % 2)) -eq 0 ] || sleep "0.0$((RANDOM % 10))"
    ctl -c "restart $node; wait alive==$members" >/dev/null ||
        fail "node $node did not come back"
}

run() { # COLLECTIVE WIRE FILE MEMBERS KILLS
    collective=$1
    wire=$2
    members=$4
    start "$1" "$2" "$3"
    for ((i = 0; i < $5; i++)); do
        kill_one
    done
    ctl -c "expect lost==0 && doubled==0 && wrong==0" >/dev/null ||
        fail "a result is wrong"
    ctl status -o json >"$work/status"
    printf '%-15s %-4s %6d %8d %8d %6d %6d %8d\n' "$1" "$2" "$5" \
        "$(value step)" $(($(value ops_exclude) + $(value ops_forward))) \
        "$(value wrong)" "$(value lost)" "$(value doubled)"
    ctl down >/dev/null
}

echo "seed $seed"
printf '%-15s %-4s %6s %8s %8s %6s %6s %8s\n' collective wire kills steps \
    decided wrong lost doubled
lane=0
for wire in shm tcp; do
    while read -r name file size; do
        run "$name" "$wire" "$file" "$size" $(((kills + lane) / 8))
        lane=$((lane + 1))
    done <<LIST
allreduce allpairs.xml 4
allgather allgather-instances.xml 8
reduce_scatter reduce-scatter-scratch.xml 4
alltoall alltoall-two-step.xml 8
LIST
done
