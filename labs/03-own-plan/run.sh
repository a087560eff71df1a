#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs three all-reduces of six ranks with real processes and counts rounds and the
# bytes of the busiest rank. Then prints the lower bounds.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

# counted NAME ALGORITHM
counted() {
    measure "$1" collrun run allreduce --algo "$2" -n "$P" -b "$S" \
        --events "$LAB_OUT/$1.events"
    count_events "$1" "$LAB_OUT/$1.events"
    report "$1" rounds send_bytes_max messages wrong
    note "$1_rounds" "$(value "$1.rounds")"
    note "$1_bytes" "$(value "$1.send_bytes_max")"
}

say "Three all-reduces of $P ranks, $S per rank. send_bytes_max is the bytes that" \
    "the busiest rank sent:"
counted ring ring
counted doubling recursive_doubling
counted halving rabenseifner

say "The fewest rounds: in a barrier, every rank needs a sign of every other."
measure barrier collrun price barrier --algo dissemination -n "$P"
report barrier rounds
note least_rounds "$(value barrier.rounds)"

say "The fewest bytes of all built-in algorithms:"
measure_by algo prices collrun price allreduce --algo all -n "$P" -b "$S"
least=$(awk '$1 ~ /^prices[.].*[.]rank_bytes$/ && (!n++ || $2 < least) \
    { least = $2 } END { print least }' "$LAB_OUT/values")
note least_bytes "$least"
report prices ring.rank_bytes recursive_doubling.rank_bytes \
    rabenseifner.rank_bytes one_shot.rank_bytes

say "Few rounds or few bytes. Now see labs/03-own-plan/README.md, from See on."
