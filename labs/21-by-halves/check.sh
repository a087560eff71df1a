#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Compares the learner's formulas with prices and virtual times, with numbers that
# depend on the seed. Then verifies, prices and runs the learner's gather.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

P=$((1 << (2 + SEED % 4)))
S=$((P * 16384 * (SEED % 5 + 1)))
A=$((10 + 5 * (SEED % 6 + 1)))
N=$((5 + SEED % 13))
note P "$P"
note S "$S"
note A "$A"
note B 1073.741824
note N "$N"

# formula NAME: evaluates its formula in costs.txt.
formula() {
    line=$(formula_in costs.txt "$1")
    printf '    %-24s %s\n' "$1 =" "$line"
    compute "formula.$1" "$line"
}

# priced NAME OP ALGORITHM
priced() {
    measure "$1" collrun price "$2" --algo "$3" -n "$P" -b "$S"
    report "$1" rank_bytes rank_received total_bytes
}

# timed NAME OP ALGORITHM: a message takes A us, 10 us of them on its way.
timed() {
    measure "$1" collrun sim "$2" --algo "$3" -n "$P" -b "$S" \
        --alpha "$((A - 10))us"
    report "$1" time_us
}

say "costs.txt, with P = $P ranks, S = $S bytes, A = $A us:"
priced tree reduce binomial
formula tree_received
priced direct reduce direct
formula direct_received
priced gather gather binomial
formula gather_sent
formula gather_total
priced scatter scatter binomial
formula scatter_sent
timed tree_sim reduce binomial
formula tree_time
timed direct_sim reduce direct
formula direct_time
timed gather_sim gather binomial
formula gather_time

say "gather.plan, with $N ranks:"
measure verify collrun verify "$LAB_DIR/gather.plan" -n "$N"
measure price collrun price "$LAB_DIR/gather.plan" -n "$N" -b "${N}K"
report price rounds messages rank_messages total_bytes
measure plan collrun plan "$LAB_DIR/gather.plan" -n "$N"
measure ours collrun price gather --algo binomial -n "$N" -b "${N}K"
measure run collrun run "$LAB_DIR/gather.plan" -n "$N" -b "${N}K" --seed "$SEED"
report run wrong
