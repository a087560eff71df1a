#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Counts reduce, gather and scatter by halves with real processes, prices them, and
# simulates their times on a rack.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

# counted NAME OP ALGORITHM: counts the bytes that the busiest real rank sent.
counted() {
    measure "$1" collrun run "$2" --algo "$3" -n "$P" -b "$S" \
        --events "$LAB_OUT/$1.events"
    count_events "$1" "$LAB_OUT/$1.events"
    report "$1" rounds messages send_bytes_max wrong
}

# priced NAME OP ALGORITHM: prints the bytes that the busiest rank receives.
priced() {
    measure "$1" collrun price "$2" --algo "$3" -n "$P" -b "$S"
    report "$1" rounds rank_bytes rank_received
}

# timed NAME OP ALGORITHM: simulates a rack of 1 GiB/s; a message takes 1 us of its
# sender and 10 us on its way.
timed() {
    measure "$1" collrun sim "$2" --algo "$3" -n "$P" -b "$S" --alpha 1us
    report "$1" time_us
}

say "A reduce of $P ranks, $S per rank, by halves (binomial) and at once" \
    "(direct):"
counted tree_run reduce binomial
counted direct_run reduce direct
note reduce_rounds "$(value tree_run.rounds)"

say "rank_received is the bytes that the busiest rank, the root, receives:"
priced tree reduce binomial
priced direct reduce direct
note tree_received "$(value tree.rank_received)"
note direct_received "$(value direct.rank_received)"

say "In virtual time:"
timed tree_sim reduce binomial
timed direct_sim reduce direct
note reduce_time "$(value tree_sim.time_us)"
note direct_time "$(value direct_sim.time_us)"

say "Gather and scatter, in which a message has all blocks of a half:"
counted gather_run gather binomial
counted scatter_run scatter binomial
timed gather_sim gather binomial
note gather_sent "$(value gather_run.send_bytes_max)"
note gather_time "$(value gather_sim.time_us)"
note scatter_sent "$(value scatter_run.send_bytes_max)"
