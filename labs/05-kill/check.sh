#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Asks fate.awk or fate.py about ten deaths in the middle of an op, in a ring whose size
# depends on the seed, and simulates these deaths. Tries bomb.faults without and
# with the check of the epoch. Runs kill.ring with real processes.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

N=$((3 + SEED % 4))
fate=$(script fate)
fate=${fate##*/}
say "$fate, about ten deaths in a ring of $N:"
measure calm ringctl sim ring -n "$N" --faults none \
    --events "$LAB_OUT/calm.events"
asked=0
right=0
while [ "$asked" -lt 10 ]; do
    dead=$(((SEED + asked) % N))
    op=$((asked % 5))
    step=$(((SEED * 3 + asked * 7) % (2 * N - 2)))
    at=$((200 + op * (2 * N + 8) + step)).5
    says=$(run_script fate "$LAB_OUT/calm.events" dead="$dead" at_ms="$at" \
        members="$N" 2>&1 | tail -n 1)
    run_tool ringctl sim ring -n "$N" --events "$LAB_OUT/death.events" \
        --faults "at ${at%.5}500us crash $dead" >/dev/null
    is=$(awk '/"kind":"decision"/ {
            fate = /"value":0/ ? "forward" : "exclude"
            match($0, /"op":[0-9]+/)
            op = substr($0, RSTART + 5, RLENGTH - 5) + 0
            if (op >= newest) { newest = op; of = fate }
        }
        END { print of }' "$LAB_OUT/death.events")
    asked=$((asked + 1))
    if [ "$says" = "$is" ]; then
        right=$((right + 1))
    fi
    echo "    member $dead dies at $at ms: $fate prints $says, right is $is"
done
note fate.asked "$asked"
note fate.right "$right"

say "bomb.faults, without the check of the epoch, then with it:"
bomb=$LAB_DIR/bomb.faults
note bomb.faults "$(sed 's/#.*//' "$bomb" | grep -c '[^ ]' || true)"
measure bomb ringctl sim ring -n "$P" --unordered --without epoch-check \
    --faults "$bomb" --seed "$SEED"
report bomb faults overcounted at_node at_op at_chunk who has wants
measure safe ringctl sim ring -n "$P" --unordered --faults "$bomb" \
    --seed "$SEED"
report safe faults crashes overcounted

say "kill.ring, with real processes:"
measure real ringctl --timeout 30s --seed "$SEED" -c \
    "source \"$LAB_DIR/kill.ring\"; status"
report real alive epoch step lost doubled recoveries.0.how recoveries.0.fate \
    recoveries.0.detected_ms recoveries.0.decided_ms recoveries.0.resumed_ms
