#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Simulates the learner's faults with each way to acknowledge, and runs the
# learner's script with real processes.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

faults=$LAB_DIR/lose.faults
say "lose.faults, acknowledged by the primary alone, then by all replicas:"
for who in primary all; do
    measure "$who" ringctl sim servers --servers "$S" --replicas "$R" \
        --ack "$who" --seed "$SEED" --faults "$faults"
    report "$who" faults acked pushes_lost slots_lost takeovers
done

say "spare.ring, with real processes:"
measure spare ringctl --timeout 20s --seed "$SEED" --keep-going -c \
    "source \"$LAB_DIR/spare.ring\"; status"
report spare servers replicas slots_lost lost doubled op 'done'
