#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Simulates an all-reduce on four racks of eight: a ring whose ranks are assigned to
# the racks in turn, the same ring in rack order, and two levels of rings.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

cluster=${LAB%/*}/topologies/racks.topo
cluster=${cluster#"$PWD"/}

# simulated NAME ALGORITHM ORDER BYTES
simulated() {
    measure "$1" collrun sim allreduce --topo "$cluster" --algo "$2" \
        --order "$3" -b "$4"
    report "$1" rounds uplink_buffers uplink_percent time_us
}

say "An all-reduce of $S on $K racks of $M, uplinks $O:1. uplink_buffers is the bytes" \
    "on the busiest uplink, as a multiple of the buffer; uplink_percent is the share" \
    "of the time in which it was busy:"
simulated far ring interleaved "$S"
simulated near ring racks "$S"
simulated levels hierarchical racks "$S"
note interleaved "$(value far.uplink_buffers)"
note ordered "$(value near.uplink_buffers)"
note hierarchy "$(value levels.uplink_buffers)"
note ring_rounds "$(value near.rounds)"
note levels_rounds "$(value levels.rounds)"
compute order_gain 'far.time_us/near.time_us'
compute levels_large 'levels.time_us/near.time_us'

say "Time is not bytes: the algorithm with the fewest bytes on its uplinks was not" \
    "the fastest. The same with $TINY:"
simulated near_small ring racks "$TINY"
simulated levels_small hierarchical racks "$TINY"
compute levels_small 'near_small.time_us/levels_small.time_us'
