#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Compares the learner's formulas with counted bytes, for a number of ranks that
# depends on the seed. Then verifies, prices and runs the learner's plan.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

P=$((2 + (SEED + 2) % 7))
S=$((P * 4096 * (SEED % 5 + 1)))
note P "$P"
note S "$S"

# formula NAME OF: notes the value of the formula in costs.txt.
formula() {
    wrote=$(formula_in costs.txt "$2")
    printf '    %-24s %s\n' "$2 =" "$wrote"
    compute "$1" "$wrote"
}

# counted OP ALGORITHM: counts the bytes and evaluates the formula.
counted() {
    measure "$1" collrun run "$1" --algo "$2" -n "$P" -b "$S" \
        --events "$LAB_OUT/$1.events"
    count_events "$1" "$LAB_OUT/$1.events"
    report "$1" send_bytes_max
    formula "$1.formula" "$1"
}

# rated OP: measures the ratio of the two rates and evaluates the formula.
rated() {
    measure "rate_$1" collrun bench "$1" -n "$P" -b "$S" -e "$S" --iters 2
    compute "rate_$1.factor" "rate_$1.busbw_GBps / rate_$1.algbw_GBps"
    formula "rate_$1.formula" "busbw_$1"
}

say "costs.txt, with $P ranks and $S bytes:"
counted broadcast chain
counted allgather ring
counted reduce_scatter ring
counted alltoall pairwise
counted allreduce ring
rated allreduce
rated broadcast

say "gather.plan:"
measure verify collrun verify "$LAB_DIR/gather.plan"
measure price collrun price "$LAB_DIR/gather.plan" -b 1M
report price rounds rank_messages rank_bytes
measure gather collrun run "$LAB_DIR/gather.plan" -b 1M --seed "$SEED"
