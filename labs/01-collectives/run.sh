#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs five collectives with real processes and counts the bytes of each rank.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

# counted OP ALGORITHM
counted() {
    measure "$1" collrun run "$1" --algo "$2" -n "$P" -b "$S" \
        --events "$LAB_OUT/$1.events"
    count_events "$1" "$LAB_OUT/$1.events"
    report "$1" send_bytes.0 send_bytes_max wire_bytes wrong
    note "$1" "$(value "$1.send_bytes_max")"
}

say "Five collectives, $P ranks, $S per rank. send_bytes_max is the bytes that the" \
    "busiest rank sent, wire_bytes those of all ranks:"
counted broadcast chain
counted allgather ring
counted reduce_scatter ring
counted alltoall pairwise
counted allreduce ring

say "Now fast: the same all-reduce many times, timed. The rates depend on this" \
    "machine; their ratio does not:"
measure rate collrun bench allreduce --algo ring -n "$P" -b "$S" -e "$S" \
    --seconds 50ms
report rate time_us algbw_GBps busbw_GBps
compute busbw '10 * rate.busbw_GBps / rate.algbw_GBps'
