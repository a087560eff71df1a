#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Records one all-reduce of five processes and counts its messages. Then runs a
# hundred all-reduces, during which one process is killed and one joins.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

say "One all-reduce of $P processes, every message recorded:"
measure calm ringctl --timeout 30s -c \
    "up $P; record \"$LAB_OUT/sum.jsonl\"; train ops --bytes $S --count 1; \
wait done"
# Before it, the members agree on the first step by tiny all-reduces.
count_events sum "$LAB_OUT/sum.jsonl" largest
report sum send send_bytes send_bytes.0
note messages "$(value sum.send)"
note bytes "$(value sum.send_bytes.0)"

say "The recording as a picture. The sum is op 2. Ops 0 and 1 are tiny: with them" \
    "the members agree on the first step:"
show ringtop --from "$LAB_OUT/sum.jsonl" --batch

say "A hundred all-reduces in slow motion; one member dies and one joins:"
measure storm ringctl --timeout 30s -c "up $P ops --bytes $S --count $OPS \
--pace 1ms; wait step>=20; kill 2; wait alive==4; add; wait alive==5; \
wait done; status"
report storm alive epoch step lost doubled
note epoch "$(value storm.epoch)"
note lost "$(value storm.lost)"
