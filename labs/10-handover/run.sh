#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Simulates a ring without a death, and one in which member 2 dies, as stories.
# Assigns the shards of an epoch from a pool, and once and for all. Then runs
# parameter servers with real workers.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

# story NAME FAULTS: makes the story of such a run.
story() {
    measure "$1" ringctl sim ring -n "$P" --faults "$2" \
        --events "$LAB_OUT/$1.events"
    awk -f "$LAB/story.awk" "$LAB_OUT/$1.events" >"$LAB_OUT/$1.story"
    sed -n '1,4s/^/    /p' "$LAB_OUT/$1.story"
}

# epoch_ops STORY: prints the number of ops until S shards are done, one per member.
epoch_ops() {
    awk -v shards="$S" '$1 == "done" && n < shards {
        left = shards - n
        n += NF - 2 < left ? NF - 2 : left
        ops++
    }
    END { print ops }' "$1"
}

say "The first ops of a ring without a death, and the members whose work counts:"
story calm none
note ops "$(epoch_ops "$LAB_OUT/calm.story")"
say "Member 2 dies in the first op:"
story death "at 201500us crash 2"
note death "$(epoch_ops "$LAB_OUT/death.story")"
note static "$(awk -v shards="$S" -v p="$P" '$1 == "done" {
        for (i = 3; i <= NF; i++)
            if ($i + p * $2 < shards)
                seen[$i + p * $2] = 1
    }
    END { for (s = 0; s < shards; s++) n += !(s in seen); print n }' \
    "$LAB_OUT/death.story")"

say "Three workers and two parameter servers, real processes; a worker is killed," \
    "another one joins:"
measure real ringctl --timeout 40s -c "up 3 --servers 2 --mode bsp train mf \
--epochs 4 --parts 3; wait step>=20; kill 1; wait alive==4; add; wait alive==5; wait done; status"
report real alive data_epoch op lost doubled
compute items real.op/real.data_epoch

say "Two workers whose work items are sleeps of 15 ms, and their rate; then" \
    "two more workers:"
measure two ringctl --timeout 40s --run rate -c "up 2 --name rate --keep \
--servers 1; slow 0 15ms; slow 1 15ms; train mf --epochs 1000; \
wait step>=80; status"
measure four ringctl --timeout 40s --run rate -c "add 2; slow 2 15ms; \
slow 3 15ms; wait alive==5 && step>=220; status; down"
report two items_per_second
report four items_per_second
compute rate four.items_per_second/two.items_per_second
