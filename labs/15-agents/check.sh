#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs actors with the learner's settings, with times that depend on the seed, and
# counts the messages of processes. Then uses the learner's targets: first for a few
# updates, which must agree with V-trace, then with much lag.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

# setting NAME [FILE]
setting() {
    sed -n "s/#.*//; s/^ *$1 *= *\(.*[^ ]\) *\$/\1/p" \
        "$LAB_DIR/${2:-learner.conf}" | tail -n 1
}

say "learner.conf:"
measure bound psnode actors cartpole --actors "$(setting actors)" \
    --queue "$(setting queue)" --batch "$(setting batch)" --jitter 1 \
    --step "$((80 + SEED % 5 * 10))us" --update 1ms \
    --updates 3000 --every 1500 --seed "$SEED"
report bound lag lag_worst total_busy total_dropped last_return

say "messages.conf, with processes, the first of which dies:"
note H "$((12 + SEED % 5 * 4))"
note U "$((8 + SEED % 4 * 3))"
note N "$((2 + SEED % 3))"
measure sent psnode actors cartpole --processes -n "$(value N)" --step 20us \
    --update 100us --updates 200 --fail 0@20:kill --seed "$SEED" \
    --set "hidden=$(value H),unroll=$(value U)"
report sent bytes_per_policy bytes_per_trajectory policies_sent trajectories_received
note T "$(value sent.trajectories_received)"
for count in policy trajectory policies; do
    compute "counted.$count" "$(setting "$count" messages.conf)"
done

say "targets.c, 40 updates compared with V-trace:"
mine=$LAB_OUT/mine.so
compile mine "$LAB_DIR/targets.c"
if [ "$(value mine.compiled)" != 1 ]; then
    exit 0
fi
measure built psnode actors cartpole -q 24 --set rate=2 --updates 40 \
    --every 40 --seed "$SEED"
report built policy_loss value_loss
measure mine psnode actors cartpole -q 24 --set rate=2 --updates 40 \
    --every 40 --seed "$SEED" --targets "$mine"
report mine policy_loss value_loss

say "And 3000 updates with a lag of 32:"
measure far psnode actors cartpole -q 24 --set rate=2 --updates 3000 \
    --every 1500 --seed "$SEED" --targets "$mine"
report far lag last_return
