#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs real servers and counts the parameters that arrive at each. Then compares
# the same exchange, as a plan, with a ring: by counts, and in virtual time at a
# switch.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

# trained NAME SERVERS: R rounds of F parameters; the status has the counts.
trained() {
    show ringctl up "$W" --servers "$2" --replicas 1 --name "lab06-$2" \
        --epochs 1 --batch 100 \
        --set "rows=$((100 * R)),features=$F,rate=0.0001" train drift
    show ringctl --run "lab06-$2" wait "done"
    measure "$1" ringctl --run "lab06-$2" status
    show ringctl --run "lab06-$2" down
    for node in 0 3 "$2"; do
        key=$1.nodes.$node
        printf '    %-24s %s\n' "$(value "$key.role") $(value "$key.node")" \
            "push_keys $(value "$key.push_keys")"
    done
}

# planned NAME SERVERS
planned() {
    sh "$LAB/servers.sh" "$2" >"$LAB_OUT/servers-$2.plan"
    measure "price_$1" collrun price "$LAB_OUT/servers-$2.plan" -n "$P" -b "$S"
    report "price_$1" rounds rank_bytes
    measure "$1" collrun sim "$LAB_OUT/servers-$2.plan" -n "$P" -b "$S" \
        --topo "$star"
    report "$1" time_us
}

say "$W workers push and pull $F parameters of 4 bytes, $R rounds. First one" \
    "server, then four; push_keys counts parameters:"
trained one 1
trained four 4
compute one_server "one.nodes.0.push_keys/(R*F)"
compute four_servers "four.nodes.0.push_keys/(R*F)"
compute worker "four.nodes.4.push_keys/(R*F)"

star=${LAB#"$PWD"/}/star.topo
say "$P workers, of which 1, 2 or 8 are also servers, as plans, which can be priced" \
    "and simulated:"
planned alone 1
planned two 2
planned all "$P"
say "A ring:"
measure price_ring collrun price allreduce --algo ring -n "$P" -b "$S"
report price_ring rounds rank_bytes
measure ring collrun sim allreduce --algo ring --order racks -n "$P" -b "$S" \
    --topo "$star"
report ring time_us
compute busiest_one "price_alone.rank_bytes/S"
compute busiest_all "price_all.rank_bytes/S"
compute ring "price_ring.rank_bytes/S"
compute rounds "price_ring.rounds/price_all.rounds"
compute incast "alone.time_us/all.time_us"
compute two_servers "two.time_us/(S/1G*1000000)"
