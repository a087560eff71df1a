#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Draws the achieved bandwidth over the size of a message, in virtual time, below the
# two roofs of the alpha-beta model. Then measures this machine.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

hosts=$LAB_OUT/star.topo
sh "${LAB%/*}/02-crossover/star.sh" "$R" >"$hosts"

# timed NAME BYTES OP OPTION...
timed() {
    name=$1
    bytes=$2
    shift 2
    measure "$name" collrun sim "$@" --topo "$hosts" --alpha "${A}us" -b "$bytes"
    report "$name" time_us
}

# roof NAME BYTES OP OPTION...: the size at which both terms of its time are equal,
# from the times of two sizes, which are on a straight line.
roof() {
    curve=$1
    start=$2
    shift 2
    timed "$curve.short" "$start" "$@"
    timed "$curve.long" "$((10 * start))" "$@"
    compute "$curve.us_per_byte" \
        "($curve.long.time_us - $curve.short.time_us) / (9 * $start)"
    compute "$curve.half" \
        "$curve.short.time_us / $curve.us_per_byte - $start"
}

say "One message, $A us and $R bytes per us:"
timed small 1000 broadcast --algo binomial -n 2
compute small '1000/small.time_us'
roof message 51200 broadcast --algo binomial -n 2
note half "$(value message.half)"
compute ninety '9*message.half'

say "Its bandwidth, in bytes per us, on logarithmic axes: o is achieved, and | is the" \
    "lower one of the two roofs, bytes/$A and $R:"
for size in 64 256 1024 4096 16384 65536 262144 1048576 4194304; do
    "$GW_BIN/collrun" sim broadcast --algo binomial -n 2 --topo "$hosts" \
        --alpha "${A}us" -b "$size" -o csv
done | awk -F , -v alpha="$A" -v rate="$R" -f "$LAB/roof.awk"

say "A ring all-reduce of $P ranks, and recursive doubling with a very large buffer:"
roof loop 51200 allreduce --algo ring -n "$P"
note ring "$(value loop.half)"
timed doubling 51200000 allreduce --algo recursive_doubling -n "$P"
compute ceiling "100*2*($P-1)/$P*51200000/doubling.time_us/$R"

say "This machine, over TCP. Where does busbw stop to grow?"
show collrun bench allreduce --algo ring -n 2 --wire tcp -b 1K -e 1M -f 8 \
    --seconds 20ms
