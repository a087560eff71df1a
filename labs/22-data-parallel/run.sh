#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Trains the same model with five all-reduces, and prints the counted bytes per step
# and the loss. Simulates a larger gradient. Then reduces gradients in buckets.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

rows=$LAB_OUT/rows
awk -v rows=512 -v features="$F" -v seed="$SEED" \
    -f "${LAB%/*}/12-layouts/rows.awk" >"$rows"

# trained NAME ALGORITHM
trained() {
    measure "$1" collrun train softmax "$rows" -n "$P" --algo "$2" --epochs 2
    report "$1" bytes_per_step train_loss steps
}

# moved NAME ALGORITHM: prices and simulates a larger gradient.
moved() {
    measure "$1" collrun price allreduce --algo "$2" -n "$P" -b "$S"
    report "$1" rounds rank_bytes rank_received
    measure "$1_sim" collrun sim allreduce --algo "$2" -n "$P" -b "$S" \
        --alpha 1us
    report "$1_sim" time_us
}

say "The same model and rows on $P ranks, by five algorithms. bytes_per_step is the" \
    "bytes of all ranks together:"
trained main main_replica
trained tree reduce_broadcast
trained parts partitioned
trained ring ring
trained all one_shot
note main_total "$(value main.bytes_per_step)"
note ring_total "$(value ring.bytes_per_step)"
compute gradient 'ring.bytes_per_step/2/(P-1)'

say "A gradient of $S: the bytes that the busiest rank sends and receives, and the" \
    "time on a rack of 1 GiB/s:"
moved main_big main_replica
moved tree_big reduce_broadcast
moved parts_big partitioned
moved ring_big ring
note main_received "$(value main_big.rank_received)"
note ring_received "$(value ring_big.rank_received)"
note main_time "$(value main_big_sim.time_us)"
note ring_time "$(value ring_big_sim.time_us)"
note parts_time "$(value parts_big_sim.time_us)"

say "Buckets: ddp.c reduces gradients while it computes those of earlier layers:"
make_program ddp "${LAB%/*}/programs/ddp.c"
show collrun exec -n 2 "$LAB_OUT/ddp" 20 16384 >"$LAB_OUT/ddp.said"
cat "$LAB_OUT/ddp.said"
note buckets "$(sed -n 's/.* \([0-9]*\) buckets: .*/\1/p' "$LAB_OUT/ddp.said")"
