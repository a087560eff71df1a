#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Compares the learner's formulas with trainings, prices and virtual times, with
# numbers that depend on the seed. Then trains with the learner's plan.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

P=$((3 + SEED % 5))
S=$((P * 65536 * (SEED % 4 + 1)))
A=$((10 + 5 * (SEED % 6 + 1)))
F=$((16 + SEED % 7))
note P "$P"
note S "$S"
note A "$A"
note F "$F"
note B 1073.741824

rows=$LAB_OUT/rows
awk -v rows=256 -v features="$F" -v seed="$SEED" \
    -f "${LAB%/*}/12-layouts/rows.awk" >"$rows"

# formula NAME: evaluates its formula in costs.txt.
formula() {
    line=$(formula_in costs.txt "$1")
    printf '    %-24s %s\n' "$1 =" "$line"
    compute "formula.$1" "$line"
}

# trained NAME ALGORITHM
trained() {
    measure "$1" collrun train softmax "$rows" -n "$P" --algo "$2" --epochs 2 \
        --seed "$SEED"
    report "$1" bytes_per_step train_loss
}

# timed NAME PLAN...: a message takes A us, 10 us of them on its way.
timed() {
    name=$1
    shift
    measure "$name" collrun sim "$@" -n "$P" -b "$S" --alpha "$((A - 10))us"
    report "$name" time_us
}

say "costs.txt, with P = $P, S = $S, A = $A us, F = $F, C = $C:"
trained ring ring
trained main main_replica
trained all one_shot
formula ring_total
formula main_total
formula all_total
measure main_price collrun price allreduce --algo main_replica -n "$P" -b "$S"
measure ring_price collrun price allreduce --algo ring -n "$P" -b "$S"
formula main_received
formula ring_received
timed main_sim allreduce --algo main_replica
formula main_time
timed ring_sim allreduce --algo ring
formula ring_time

say "reduce.plan, with $P ranks:"
measure verify collrun verify "$LAB_DIR/reduce.plan" -n "$P"
measure price collrun price "$LAB_DIR/reduce.plan" -n "$P" -b "$S"
report price rounds rank_bytes rank_received
timed sim "$LAB_DIR/reduce.plan"
trained mine "$LAB_DIR/reduce.plan"
