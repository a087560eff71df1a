#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Counts the messages of 8 real ranks and of their simulation. Then simulates tours,
# trees and barriers of up to 100,000 ranks.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

flat=$LAB/exercise/flat.topo
flat=${flat#"$PWD"/}

# timed NAME RANKS BYTES OP WORD...
timed() {
    name=$1 ranks=$2 bytes=$3
    shift 3
    measure "$name" collrun sim "$@" --topo "$flat" --alpha "${A}us" \
        -n "$ranks" -b "$bytes"
}

say "$Q ranks, as processes and in virtual time. Do the counts agree?"
measure real collrun run allreduce --algo ring -n "$Q" -b 64K
timed virtual "$Q" 64K allreduce --algo ring
report real messages wire_bytes wrong
report virtual messages total_bytes
note real_messages "$(value real.messages)"

say "A message costs $A us, and 4 bytes almost nothing. A tour passes all ranks one" \
    "after the other; a chunk of the ring does it twice."
printf '\n%10s %14s %14s %14s\n' ranks '2 tours, us' 'trees, us' 'barrier, us'
for ranks in 10 100 1000 10000 100000; do
    for what in 'broadcast chain 2' 'allreduce reduce_broadcast 1' \
        'barrier dissemination 1'; do
        # shellcheck disable=SC2086 # three words
        set -- $what
        "$GW_BIN/collrun" sim "$1" --algo "$2" --segments 1 --topo "$flat" \
            --alpha "${A}us" -n "$ranks" -b 4 -o jsonl |
            awk -v name=t -v by= -f "$LAB_LIB/json.awk" |
            awk -v times="$3" '$1 == "t.time_us" { printf "%.1f\n", times * $2 }'
    done | xargs printf '%10s %14s %14s %14s\n' "$ranks"
done

say "The three again, as commands that you can type:"
timed tour "$P" 4 broadcast --algo chain --segments 1
compute ring_ms '2*tour.time_us/1000'
timed tree "$P" 4 allreduce --algo reduce_broadcast
report tree rounds time_us
note tree_rounds "$(value tree.rounds)"
note tree_us "$(value tree.time_us)"
timed barrier "$H" 4 barrier --algo dissemination
report barrier rounds time_us
note barrier_us "$(value barrier.time_us)"

say "With $S bytes per rank: the ring, and again with messages that cost nothing." \
    "At how many ranks is the first time twice the second?"
for ranks in 80 120; do
    timed "ring$ranks" "$ranks" "$S" allreduce --algo ring
    measure "bytes$ranks" collrun sim allreduce --algo ring --topo "$flat" \
        --alpha 0us -n "$ranks" -b "$S"
    compute "more$ranks" "ring$ranks.time_us/bytes$ranks.time_us-1"
done
compute even_ranks '80+40*(1-more80)/(more120-more80)'
printf '    %-24s %s\n' "ranks" "$(value even_ranks)"

say "$W ranks, the ring and Rabenseifner's:"
timed far "$W" "$S" allreduce --algo ring
timed near "$W" "$S" allreduce --algo rabenseifner
report far rounds time_us
report near rounds time_us
compute halving_gain 'far.time_us/near.time_us'

say "And every rank to every other, $V ranks and $Z bytes:"
timed one "$V" "$Z" allreduce --algo one_shot
report one rounds time_us
note one_us "$(value one.time_us)"
