#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Ranks on several hosts meet by name and find their interfaces. Oversubscribed
# uplinks cost the simulated times. All survivors report a cut cable and a dead
# host.

load lab.bash

started=()
code=

setup_file() {
    lab_environment
}

setup() {
    lab_up 2 2
}

teardown() {
    lab_down
}

# begin_ranks "HOST..." ENDPOINT COMMAND...: one rank per host, in this order.
begin_ranks() {
    local rank=0 host
    local -a hosts
    read -ra hosts <<<"$1"
    first=${#started[@]}
    export GW_SIZE=${#hosts[@]} GW_LOCAL_SIZE=1 GW_LOCAL_RANK=0
    export GW_RENDEZVOUS=$2
    for host in "${hosts[@]}"; do
        GW_RANK=$rank start "$rank" "$host" "${@:3}"
        rank=$((rank + 1))
    done
}

# The status of each rank: "0 0 0 0".
end_ranks() {
    statuses=
    for pid in "${started[@]:first}"; do
        ends "$pid"
        statuses+=${statuses:+ }$code
    done
    head -n 20 ./*.out ./*.err
}

collrun_ranks() {
    begin_ranks "$1" tcp://h0:5005 "$BUILD/collrun" "${@:2}"
}

@test "hosts meet by name, and by addresses of version 6" {
    for at in tcp://h0:5005 tcp://h0-6:5006 "tcp://[$(address h0 6)]:5007"; do
        begin_ranks "h0 h1 h2 h3" "$at" "$BUILD/collrun" bench allreduce \
            --sizes 1K,64K -i 3 -o jsonl
        end_ranks
        [ "$statuses" = "0 0 0 0" ]
        [ "$(grep -c '"wrong":0,.*"wire":"tcp","ranks":4,' 0.out)" -eq 2 ]
    done
}

# Is a rank of h0 connected with another one of h0 by a Unix socket?
near_ranks_are_connected() {
    # shellcheck disable=SC2016 # the expressions are awk's
    netlab exec h0 awk '$6 == "03" && $8 ~ /^@gradwire-/ { n++ }
        END { exit !n }' /proc/net/unix
}

@test "ranks of one host use Unix sockets, and TCP to other hosts" {
    collrun_ranks "h0 h0 h1 h1" bench allreduce \
        --algo all --sizes 64,100K -i 100 -o jsonl
    until_true 60 near_ranks_are_connected
    end_ranks
    [ "$statuses" = "0 0 0 0" ]
    grep -q '"wrong":0,.*"wire":"tcp","ranks":4,' 0.out
    run ! grep -q '"wrong":[1-9]' 0.out
}

# Microseconds of the fastest op, as measured.
measured() {
    collrun_ranks "$1" bench allreduce --algo ring --sizes 1M -i 3 -o jsonl
    end_ranks
    [ "$statuses" = "0 0 0 0" ]
    grep -q '"wrong":0,' 0.out
    us=$(sed 's/.*"p50_us":\([0-9]*\).*/\1/' 0.out)
}

# ... and as predicted.
predicted() {
    us=$("$BUILD/collrun" sim allreduce --algo ring --topo lab.topo -b 1M \
        --order "$1" -o csv |
        awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "time_us") t = i }
            NR == 2 { printf "%d", $t }')
}

# Token buckets enforce the rate, except for the first bucket; the additional
# time of TCP and of two busy cores may be large.
@test "over-subscribed uplinks cost what the simulation predicts" {
    netlab rate r0 8M
    netlab rate r1 8M
    netlab topo >lab.topo
    for way in "racks h0 h1 h2 h3" "interleaved h0 h2 h1 h3"; do
        predicted "${way%% *}"
        want=$us
        measured "${way#* }"
        echo "$way: predicted $want us, measured $us us"
        [ "$us" -gt $((want * 8 / 10)) ]
        [ "$us" -lt $((want * 5)) ]
        all="$all $want"
    done
    # The second order crosses the spine twice as often.
    read -r racks interleaved <<<"$all"
    [ "$interleaved" -gt $((racks * 18 / 10)) ]
}

# long_job: ops without end, some of which are done when it returns.
long_job() {
    collrun_ranks "h0 h1 h2 h3" bench allreduce --algo ring --sizes 64K \
        -i 1000000 -o jsonl
    until_true 30 connected h2
    until_true 30 connected h3
}

# The host's NIC has received more bytes than a rendezvous takes.
connected() {
    [ "$(netlab exec "$1" cat /proc/net/dev |
        awk '$1 == "eth0:" { print $2 }')" -gt 2000000 ]
}

@test "a cut cable: the other ranks end, and say whom they have lost" {
    long_job
    netlab cut h2
    end_ranks
    [ "$statuses" = "75 75 75 75" ]
    grep -q 'rank 2 lost' 0.err
}

@test "a dead host: the other ranks end, and say whom they have lost" {
    long_job
    netlab kill h3
    end_ranks
    [ "${statuses% *}" = "75 75 75" ]
    grep -q 'rank 3 lost' 0.err
}
