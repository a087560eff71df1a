#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Verifies, prices, runs and simulates six.plan, and even.plan with an even
# number of ranks that depends on the seed. Verifies the two mended plans.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

N=$((6 + 2 * (SEED % 5)))
T=$((6 * 4096 * (SEED % 4 + 1)))
note N "$N"
note T "$T"

say "six.plan, in at most 7 rounds and 1.7 S:"
measure verify collrun verify "$LAB_DIR/six.plan"
measure price collrun price "$LAB_DIR/six.plan" -b "$S"
report price ranks rounds rank_messages rank_bytes
measure plan collrun plan "$LAB_DIR/six.plan"
measure run collrun run "$LAB_DIR/six.plan" -b "$S" --seed "$SEED" \
    --events "$LAB_OUT/run.events"
count_events run "$LAB_OUT/run.events"
report run op send_bytes_max wrong

say "Virtual times with $T bytes; also of a ring and of recursive doubling:"
measure sim collrun sim "$LAB_DIR/six.plan" -n "$P" -b "$T"
report sim time_us
measure ring collrun sim allreduce --algo ring --order racks -n "$P" -b "$T"
report ring time_us
measure doubling collrun sim allreduce --algo recursive_doubling --order racks \
    -n "$P" -b "$T"
report doubling time_us

say "even.plan, with $N ranks:"
measure even collrun verify "$LAB_DIR/even.plan" -n "$N"
measure even_price collrun price "$LAB_DIR/even.plan" -n "$N" -b "${N}K"
report even_price ranks rounds rank_messages rank_bytes
measure even_plan collrun plan "$LAB_DIR/even.plan" -n "$N"
measure even_run collrun run "$LAB_DIR/even.plan" -n "$N" -b "${N}K" \
    --seed "$SEED"
report even_run wrong

say "The two plans to mend:"
measure twice collrun verify "$LAB_DIR/twice.plan"
report twice ranks steps fault
measure stuck collrun verify "$LAB_DIR/stuck.plan"
report stuck ranks steps fault
