#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Random faults with oracles: a ring whose ops are checked against the
# contributors reported with them, one whose all-to-alls are checked against the
# members among which they were done, and a training on parameter servers whose
# items are counted. Each has three controllers, and suffers kills, pauses,
# cuts, slow links and nodes, wrong clocks, full disks, joins and dying leaders.
# The command fails if anything is lost or counted twice, or if the work stops.
#
#   tests/fault/chaos.sh             make check-chaos
#
#   CHAOS_FOR=1m   of each    CHAOS_RATE=1/s   CHAOS_SEED=   drawn; it is printed
set -eu
cd "$(dirname "$0")/../.."
build=${B:-build}
time=${CHAOS_FOR:-1m}
rate=${CHAOS_RATE:-1/s}
seed=${CHAOS_SEED:-$(awk 'BEGIN { srand(); print int(rand() * 1000000) + 1 }')}

work=$(mktemp -d)
GRADWIRE_RUNS=$work/runs
GRADWIRE_DATA=$work
export GRADWIRE_RUNS GRADWIRE_DATA
finish() {
    "$build/ringctl" --run chaos down >/dev/null 2>&1 || true
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' HUP INT PIPE TERM

up() {
    "$build/ringctl" up --name chaos "$@" >"$work/output" 2>&1 || {
        cat "$work/output"
        exit 1
    }
}

# chaos WHAT: in the current run.
chaos() {
    echo "chaos on a $1: CHAOS_SEED=$seed CHAOS_FOR=$time CHAOS_RATE=$rate"
    if ! "$build/ringctl" --run chaos chaos --seed "$seed" --for "$time" \
        --rate "$rate" >"$work/output" 2>"$work/complaint"; then
        cat "$work/output" "$work/complaint"
        "$build/ringctl" --run chaos status || true
        exit 1
    fi
    grep '^# ' "$work/output" # the sum
}

up 6 --controllers 3 ops --bytes 64K
chaos ring
"$build/ringctl" --run chaos down >/dev/null
up 6 --controllers 3 ops --bytes 64K --collective alltoall
chaos "ring of all-to-alls"
"$build/ringctl" --run chaos down >/dev/null

awk 'BEGIN {
    srand(1)
    for (i = 0; i < 3000; i++) {
        x = 2 * rand() - 1; y = 2 * rand() - 1
        print (x + y > 0 ? 1 : -1), "1:" x, "2:" y
    }
}' >"$work/rows.libsvm"
# As many epochs as take that long, with 100 batches of 3 slow workers. With
# other numbers of servers and workers, and without faults, the weights must be
# the same.
seconds=$(echo "$time" | awk '/m$/ { print $0 * 60; next } /h$/ { print $0 * 3600; next }
    { print int($0) }')
training="train lr rows.libsvm --batch 30 --parts 4 --epochs $seconds"
digest() {
    "$build/ringctl" --run chaos --timeout 10m -c "wait done; status -o json" |
        sed -n 's/.*"result":{[^}]*"digest":"\([0-9a-f]*\)".*/\1/p'
}
# shellcheck disable=SC2086
up --servers 1 --workers 1 $training
right=$(digest)
"$build/ringctl" --run chaos down >/dev/null
# shellcheck disable=SC2086
up --servers 5 --workers 3 --controllers 3 $training
for worker in 0 1 2; do
    "$build/ringctl" --run chaos slow worker $worker 5ms >/dev/null
done
chaos "parameter server"
weights=$(digest)
if [ -z "$right" ] || [ "$weights" != "$right" ]; then
    echo "the weights are $weights, without chaos $right"
    exit 1
fi
"$build/ringctl" --run chaos -c "expect lost==0 && doubled==0"
echo "the training is done, with the same weights as without chaos: $right"
