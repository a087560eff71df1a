#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# netlab itself, and the choice of a process's interface.

load lab.bash

setup_file() {
    lab_environment
}

teardown() {
    lab_down
}

# reaches HOST OTHER: a connection to a closed port is refused, which proves
# that OTHER is reachable.
reaches() {
    netlab exec "$1" timeout 2 bash -c "exec 3<>/dev/tcp/$2/9" 2>&1 |
        grep -q refused
}

@test "netlab: an unknown verb, host, rack or rate is an error; down is final" {
    lab_up 1 2
    for wrong in "up 1 1" "up 0 1" "cut h2" "cut r1" "cut x" "rate h0 fast" \
        "exec h7 true" "exec h0" "boot h0" "walk"; do
        # shellcheck disable=SC2086 # words
        run -64 netlab $wrong
        [[ $output = netlab:* ]]
    done
    run -3 netlab exec h1 sh -c 'exit 3'
    netlab exec h1 sleep 600 3>&- &
    sleeper=$!
    netlab down
    run wait $sleeper
    [ ! -e "/run/netlab.$NETLAB" ]
    run -64 netlab list
    run -0 netlab down
}

@test "netlab: hosts have names, files and memory of their own, and a way" {
    lab_up 2 1
    [ "$(netlab exec h1 hostname)" = h1 ]
    netlab exec h0 touch /run/mine /dev/shm/mine
    netlab exec h1 test ! -e /run/mine
    netlab exec h1 test ! -e /dev/shm/mine
    [ ! -e /run/mine ]
    reaches h0 h1
    reaches h0 h1-6
    for node in h1 r1; do
        netlab cut $node
        run ! reaches h0 h1
        netlab heal $node
        until_true 20 reaches h0 h1
    done
    netlab kill h1
    run -64 netlab exec h1 true
    run ! reaches h0 h1
    netlab boot h1
    until_true 20 reaches h0 h1
    netlab exec h1 test ! -e /run/mine
}

@test "netlab: the cluster as a topology" {
    lab_up 2 2
    netlab rate r0 3M
    netlab rate h3 512K
    netlab topo >lab.topo
    cat lab.topo
    "$BUILD/collrun" sim allreduce --topo lab.topo -b 1M \
        --algo ring --order racks -o csv >sim.csv
    # A ring sends and receives 1.5 MiB at each NIC, at 512 KiB per second:
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "time_us") t = i }
        NR == 2 { exit !($t > 2900000 && $t < 3100000) }' sim.csv
}

# server HOST OPTION...: fails with an error.
server() {
    run -69 netlab exec "$1" timeout 20 "$BUILD/psnode" server \
        --join tcp://h1:7100 "${@:2}"
}

@test "a wrong interface is an error that lists the candidates" {
    lab_up 1 2
    there="use one of eth0 $(address h0), eth0 $(address h0 6)"
    for wrong in "--interface eth7" "--listen tcp://192.0.2.1:*" \
        "--interface 192.0.2.1" "--listen tcp://h1:7200"; do
        # shellcheck disable=SC2086 # an option and its value
        server h0 $wrong
        [[ $output = *"$there"* ]]
    done
    GW_RANK=0 GW_SIZE=2 GW_RENDEZVOUS=tcp://h1:5005 run -69 \
        netlab exec h0 "$BUILD/collrun" bench allreduce --interface eth7
    [[ $output = *"$there"* ]]
}

@test "the interface is the one of the route, or the given one" {
    lab_up 1 2
    # A second NIC, on a network without a route to the others.
    netlab exec h0 ip link add eth1 type veth peer name other
    netlab exec h0 ip address add 10.99.0.1/24 dev eth1
    netlab exec h0 ip link set eth1 up
    export GW_RANK=0 GW_SIZE=2 GW_RENDEZVOUS=tcp://h1:5005
    for said in "" "--interface eth0" "--interface h0" "--interface eth1"; do
        # shellcheck disable=SC2086 # an option and its value
        netlab exec h0 "$BUILD/collrun" exec --explain-env $said -o csv |
            sed -n 's/^interface,\([^,]*\),.*/\1/p'
    done >chosen.txt
    cat chosen.txt
    own=$(netlab exec h0 getent ahosts h1 | awk 'NR == 1 { print $1 }')
    case $own in
    *:*) own=$(address h0 6) ;;
    *) own=$(address h0) ;;
    esac
    [ "$(sed -n 1p chosen.txt)" = "$own" ]
    [ "$(sed -n 2p chosen.txt)" = "$own" ]
    [ "$(sed -n 3p chosen.txt)" = "$own" ]
    [ "$(sed -n 4p chosen.txt)" = 10.99.0.1 ]
}
