#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Makes a plan of the learner's placement. Verifies, runs and simulates it, and
# compares it with a ring, with a size that depends on the seed. Then trains on 1,
# 2 and 4 servers, which must give the bits of one process.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

T=$((64 * 4096 * (4 + SEED % 9)))
note T "$T"
plan=$LAB_OUT/place.plan
star=${LAB#"$PWD"/}/star.topo

say "place.txt as a plan of push and pull, for $W workers and $T bytes:"
note place.made 0
if awk -f "$LAB/place.awk" -v "workers=$W" "$LAB/tensors.txt" \
    "$LAB_DIR/place.txt" >"$plan"; then
    note place.made 1
    note place.pieces "$(sed -n '1s/[^0-9]*\([0-9]*\).*/\1/p' "$plan")"
    measure verify collrun verify "$plan"
    measure run collrun run "$plan" -b "$T" --seed "$SEED" \
        --events "$LAB_OUT/run.events"
    count_events run "$LAB_OUT/run.events"
    report run send_bytes.0 send_bytes.1 send_bytes.2 send_bytes.3 wrong
    measure sim collrun sim "$plan" -b "$T" --topo "$star"
    report sim time_us
    measure ring collrun sim allreduce --algo ring --order racks -n "$W" \
        -b "$T" --topo "$star"
    report ring time_us
fi

say "A training, on 1, 2 and 4 servers, and by one process:"
for n in 1 2 4; do
    measure "ps$n" psnode train drift -n "$W" -s "$n" --replicas 1 --epochs 1 \
        --set rows=1000 --seed "$SEED" --reference
    report "ps$n" digest same_bits
    note "ps$n.same" 0
    [ "$(value "ps$n.same_bits")" != yes ] || note "ps$n.same" 1
done
note digests.equal 0
if [ "$(value ps1.digest)" = "$(value ps2.digest)" ] &&
    [ "$(value ps2.digest)" = "$(value ps4.digest)" ]; then
    note digests.equal 1
fi
