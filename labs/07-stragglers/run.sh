#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Simulates rounds with backup workers, and workers that do not wait, in virtual
# time. The clock is that of the real servers.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

# simulated NAME VALUE PREDICTION ARGUMENTS...
simulated() {
    name=$1 what=$2 prediction=$3
    shift 3
    measure "$name" psnode sim "$@"
    report "$name" "$what"
    note "$prediction" "$(value "$name.$what")"
}

say "Rounds of 16 gradients, by 16, 17 and 18 workers, exponential times of mean" \
    "1 s:"
simulated none round_s wait16 -n "$W" --mode bsp --rounds "$R"
simulated one round_s wait17 -n 17 --mode "kofn:$W" --late give-up --rounds "$R"
simulated two round_s wait18 -n 18 --mode "kofn:$W" --late give-up --rounds "$R"
report two dropped
note dropped "$(value two.dropped)"

say "One of two; the late one completes a gradient that is dropped:"
simulated late round_s vain -n 2 --mode kofn:1 --rounds 20000

say "Four workers, one $T times slower, without waiting and with a bound:"
simulated free items_per_second paces -n "$N" --mode asp --compute fixed:1s \
    --slow "0:$T" --rounds "$R"
simulated bound round_s bounded -n "$N" --mode "ssp:$B" --compute fixed:1s \
    --slow "0:$T" --rounds "$R"

say "Sixteen workers, exponential times:"
simulated ssp ahead_max ahead -n "$W" --mode "ssp:$B" --rounds "$R"
simulated asp stale_mean stale -n "$W" --mode asp --rounds "$R"

say "A training with a small rate, until the loss is a thousandth:"
measure_by mode learns psnode sim drift -n "$W" --mode "bsp,ssp:$B,asp" \
    --rounds 400 --batch 128 --target 0.001 \
    --set rate=0.02,features=64,noise=0,period=1e12
report learns bsp.seconds_to_target "ssp_$B.seconds_to_target" \
    asp.seconds_to_target
compute sooner learns.bsp.seconds_to_target/learns.asp.seconds_to_target
