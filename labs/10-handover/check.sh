#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Simulates a ring in which members die and come back at times that depend on the
# seed. Lets shards.awk or shards.py assign the shards, and judges it by the results
# of the ring. Then runs death.ring with real processes.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

N=$((4 + SEED % 3))
SHARDS=$((9 + SEED % 7))
first=$((205 + SEED * 11 % 40))
second=$((330 + SEED * 17 % 60))
note N "$N"
note SHARDS "$SHARDS"
shards=$(script shards)
say "${shards##*/}, $SHARDS shards in a ring of $N whose members die and come back:"
measure deaths ringctl sim ring -n "$N" --for 1200ms \
    --faults "at ${first}500us crash 2; at ${second}500us crash 0 for 60ms; at 700500us crash 3 for 50ms" \
    --events "$LAB_OUT/deaths.events"
report deaths crashes views forward exclude
awk -f "$LAB/story.awk" "$LAB_OUT/deaths.events" >"$LAB_OUT/story"
run_script shards "$LAB_OUT/story" shards="$SHARDS" \
    >"$LAB_OUT/assigned" 2>"$LAB_OUT/shards.err" || true
sed 's/^/    /' "$LAB_OUT/shards.err"
awk -f "$LAB/judge.awk" -v shards="$SHARDS" "$LAB_OUT/story" \
    "$LAB_OUT/assigned" | sed 's/^/shards./' >>"$LAB_OUT/values"
note work "$(awk '$1 == "done" { n += NF - 2 } END { print n }' \
    "$LAB_OUT/story")"
report shards used epochs doubled idle strange

say "death.ring, with real processes:"
measure real ringctl --timeout 40s --seed "$SEED" -c \
    "source \"$LAB_DIR/death.ring\"; status"
report real alive data_epoch op lost doubled
