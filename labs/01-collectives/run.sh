#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs five collectives with real processes, and counts what each rank sent.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

# counted OP ALGORITHM
counted() {
    measure "$1" collrun run "$1" --algo "$2" -n "$P" -b "$S" \
        --events "$LAB_OUT/$1.events"
    count_events "$1" "$LAB_OUT/$1.events"
    tell "$1" send_bytes.0 send_bytes_max wire_bytes wrong
    note "$1" "$(value "$1.send_bytes_max")"
}

say "Five collectives, $P ranks, $S a rank. send_bytes_max is what the busiest" \
    "rank sent, wire_bytes what all of them did:"
counted broadcast chain
counted allgather ring
counted reduce_scatter ring
counted alltoall pairwise
counted allreduce ring

say "And fast: the same all-reduce again and again, timed. The rates are this" \
    "machine's; their ratio is not:"
measure rate collrun bench allreduce --algo ring -n "$P" -b "$S" -e "$S" \
    --seconds 50ms
tell rate time_us algbw_GBps busbw_GBps
reckon busbw '10 * rate.busbw_GBps / rate.algbw_GBps'
