#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Trains an agent to balance a pole: by all-reduce, on a parameter server, and by
# separate actors and a learner, whose data lag behind.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

say "All ranks play and learn: $P ranks in a ring, one rank alone, and three workers" \
    "of a parameter server:"
measure ring collrun train cartpole -n "$P" --algo ring -E 3 --seed "$SEED"
report ring return bytes_per_update messages_per_update test_return digest
measure alone collrun train cartpole -n 1 -E 3 --seed "$SEED"
report alone digest
measure server psnode train cartpole -n 3 -E 3 --seed "$SEED"
report server digest
note update_bytes "$(value ring.bytes_per_update)"
note update_messages "$(value ring.messages_per_update)"
note weights "$(printf '%s\n' "$(value ring.digest)" "$(value alone.digest)" \
    "$(value server.digest)" | sort -u | grep -c .)"

say "$N actors, a queue of $Q, $B trajectories per update. First the learner is" \
    "slow ($UPDATE per update), then it is fast:"
measure slow psnode actors cartpole -n "$N" -q "$Q" -b "$B" --step "$STEP" \
    --update "$UPDATE" --seed "$SEED"
report slow lag lag_formula lag_worst updates_per_s total_busy last_return
measure fast psnode actors cartpole -n "$N" -q "$Q" -b "$B" --step "$STEP" \
    --update 10us --seed "$SEED"
report fast lag lag_formula lag_worst updates_per_s total_busy last_return
note lag_slow "$(value slow.lag)"
note lag_fast "$(value fast.lag)"
measure two psnode actors cartpole -n 2 -q 8 --step "$STEP" --update 500us \
    --set "unroll=$U" --seed "$SEED"
report two lag updates_per_s total_busy
note busy "$(value two.total_busy)"

say "The same with processes: all survive; then $K of them are killed after 20" \
    "updates:"
measure processes psnode actors cartpole --processes -n "$N" -q "$Q" -b "$B" \
    --step "$STEP" --update "$UPDATE" --updates 600 --seed "$SEED"
report processes lag lag_formula lag_virtual lag_worst updates_per_s total_busy \
    policies_sent trajectories_received
measure left psnode actors cartpole --processes -n "$N" -q "$Q" -b "$B" \
    --step 20us --update "$UPDATE" --updates 600 --every 300 --seed "$SEED" \
    --fail "$(seq -s , -f '%g@20:kill' "$K")"
report left lag_mean lag_formula actors_lost policies_sent trajectories_received
note lag_left "$(value left.lag_mean)"

say "Throughput against lag: three actors whose times vary much, and a queue of" \
    "0, 1, 4 and 16 places. What does the last one gain?"
for queue in 0 1 4 16; do
    measure "queue$queue" psnode actors cartpole -n 3 -q "$queue" --jitter 1 \
        --updates 4000 --seed "$SEED"
    report "queue$queue" lag lag_worst updates_per_s
done
