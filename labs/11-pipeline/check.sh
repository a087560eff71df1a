#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Simulates the learner's schedules with times that depend on the seed, and runs
# the first one with one process per stage.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

FWD=$((1 + (SEED - 1) % 3))
BWD=$((2 + (SEED - 1) / 3 % 4))
UNIT=$((1 + (SEED - 1) % 5))
note FWD "$FWD"
note BWD "$BWD"
note UNIT "$UNIT"

say "order.pipe, a forward of $FWD ms and a backward of $BWD:"
measure_by stage order pipebench sim "$LAB_DIR/order.pipe" \
    --forward "${FWD}ms" --backward "${BWD}ms"
if [ "$(value order.status)" = 0 ]; then
    report order all.time_us all.messages 0.peak_activations 1.peak_activations \
        2.peak_activations 3.peak_activations
    held=0
    for stage in 0 1 2 3; do
        held="$held + order.$stage.peak_activations"
    done
    compute order.held "$held"
    say "The same with real processes. The fastest of three steps counts, because" \
        "the machine may be busy:"
    # Long passes: on a busy machine a stage may wait for a CPU after each of them.
    measure_by stage real pipebench run "$LAB_DIR/order.pipe" --steps 3 \
        --work "sleep:$((15 * FWD))ms,$((15 * BWD))ms"
    report real all.time_least_us all.time_predicted_us all.peak_activations
fi

say "fill.pipe, F and W of $UNIT ms and I of $((2 * UNIT)):"
measure_by stage fill pipebench sim "$LAB_DIR/fill.pipe" \
    --forward "${UNIT}ms" --input "$((2 * UNIT))ms" --weight "${UNIT}ms"
report fill all.time_us all.messages all.peak_activations
