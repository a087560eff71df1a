#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Kills member 2 of a ring in virtual time, once after each of its sends of one
# op, and prints the decision; then once more with a restart.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

# The first op begins at 200 ms, and a step takes 1 ms. The death after K sends is
# half a step after the Kth.
say "Member $DEAD dies after 1 to $((2 * P - 2)) of its sends of the first op:"
sent=1
while [ "$sent" -le $((2 * P - 2)) ]; do
    measure "sent$sent" ringctl sim ring -n "$P" \
        --faults "at $((199 + sent))500us crash $DEAD" \
        --events "$LAB_OUT/sent$sent.events"
    report "sent$sent" forward exclude spread kept redone fresh
    if [ "$(value "sent$sent.forward")" = 1 ] && [ -z "$(value nth)" ]; then
        note nth "$sent"
    fi
    sent=$((sent + 1))
done
note redone "$(value "sent$K.redone")"

say "It is started again 50 ms later:"
measure again ringctl sim ring -n "$P" \
    --faults "at 201500us crash $DEAD for 50ms" --for 2s
report again views crashes ops overcounted
note views "$(value again.views)"

say "The members after the first of these deaths, from the events. Their sum, if" \
    "each contributes 4 to the power of its number, is:"
left=$(awk '/"kind":"member"/ {
        match($0, /"rank":[0-9]+/)
        rank = substr($0, RSTART + 7, RLENGTH - 7) + 0
        if (/"value":1[}]/) there[rank] = 1
        if (/"value":4[}]/) delete there[rank]
    }
    END { for (rank in there) sum += 4 ^ rank; print sum }' \
    "$LAB_OUT/sent1.events")
note sum "$left"
echo "    $left"
