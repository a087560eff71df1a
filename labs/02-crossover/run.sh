#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Counts the rounds and bytes of three all-reduces in their plans. Then measures
# their times in virtual time for several sizes, on hosts with known costs: A us
# per message, R bytes per us.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

hosts=$LAB_OUT/star.topo
sh "$LAB/star.sh" "$R" >"$hosts"

# counted NAME ALGORITHM RANKS
counted() {
    measure "$1" collrun price allreduce --algo "$2" -n "$3" -b "$S"
    report "$1" rounds messages rank_bytes
}

# timed NAME RANKS BYTES: all algorithms.
timed() {
    measure_by algo "$1" collrun sim allreduce --topo "$hosts" --alpha "${A}us" \
        -n "$2" -b "$3"
}

say "Counts from the plans, $S bytes per rank; rank_bytes is the bytes that the" \
    "busiest rank sends:"
counted rd recursive_doubling "$P"
counted ring ring "$P"
counted rabenseifner rabenseifner "$P"
note rd_rounds "$(value rd.rounds)"
note ring_rounds "$(value ring.rounds)"
note rd_bytes "$(value rd.rank_bytes)"
note ring_bytes "$(value ring.rank_bytes)"

say "Time, $P ranks, $A us per message and $R bytes per us. d is recursive" \
    "doubling, o the ring, r Rabenseifner's. The further right, the slower compared" \
    "with the fastest of the three (a very slow o is at the edge). The numbers are" \
    "the bytes and the fastest time."
printf '$ %scollrun sim allreduce --topo %s --alpha %sus -n %s -b BYTES\n\n' \
    "$LAB_SHOWN" "$hosts" "$A" "$P"
for size in 12 24 48 96 144 192 288 480 960; do
    size=$((size * 1024))
    "$GW_BIN/collrun" sim allreduce --topo "$hosts" --alpha "${A}us" -n "$P" \
        -b "$size" -o jsonl >"$LAB_OUT/row.jsonl"
    awk -v name=t -v by=algo -f "$LAB_LIB/json.awk" "$LAB_OUT/row.jsonl" |
        awk -v size="$size" -f "$LAB/chart.awk"
done

say "d and o change places between two sizes. Both times are straight lines over the" \
    "size; they meet at:"
timed below "$P" 163840
timed above "$P" 194560
report below ring.time_us recursive_doubling.time_us
report above ring.time_us recursive_doubling.time_us
compute below.lead "below.ring.time_us - below.recursive_doubling.time_us"
compute above.lead "above.recursive_doubling.time_us - above.ring.time_us"
compute crossing "163840 + 30720 * below.lead / (below.lead + above.lead)"
printf '    %-24s %s\n' "bytes" "$(value crossing)"

say "Six ranks:"
counted fold rabenseifner "$Q"
note fold_rounds "$(value fold.rounds)"
note fold_bytes "$(value fold.rank_bytes)"
measure path collrun plan allreduce --algo rabenseifner -n "$Q"
note fold_path "$(awk -v size="$S" -f "$LAB/path.awk" "$LAB_OUT/path.jsonl")"
printf '    %-24s %s\n' "bytes, step by step" "$(value fold_path)"
