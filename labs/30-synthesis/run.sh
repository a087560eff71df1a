#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The bounds of an all-gather and an all-reduce on two racks, with fast and with slow
# uplinks; and the times of the plan of lab 03, of a ring and of a synthesised plan.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

racks=$LAB/exercise
racks=${racks#"$PWD"/}

# bounded NAME OP TOPOLOGY
bounded() {
    measure "$1" collrun bound "$2" --topo "$racks/$3.topo" -b "$S"
    report "$1" bytes_us cut
}

say "The least times, in microseconds. T, the time of $S on one NIC, is:"
compute T 'S/1G*1000000'
bounded host allgather six
bounded rack allgather slow
bounded reduce allreduce six
bounded slow allreduce slow
compute gather_host 'host.bytes_us/T'
compute gather_slow 'rack.bytes_us/T'
compute reduce_host 'reduce.bytes_us/T'
compute reduce_slow 'slow.bytes_us/T'

say "Three all-reduces: the box of lab 03, a ring, and a synthesised plan:"
measure box collrun sim "$racks/best.plan" --topo "$racks/six.topo" -b "$S"
report box uplink_buffers time_us optimum_percent
measure ring collrun sim allreduce --algo ring --order racks \
    --topo "$racks/slow.topo" -b "$S"
report ring uplink_buffers time_us optimum_percent
measure synth collrun synth allreduce --topo "$racks/slow.topo" -b "$S" \
    --plan "$LAB_OUT/synth.plan"
report synth trees parts depth time_us optimum_percent
note box_leaves "$(value box.uplink_buffers)"
compute ring_slow 'ring.time_us/T'
compute plan_slow 'synth.time_us/T'
