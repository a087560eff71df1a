#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Parameter servers on several hosts, put together by hand: controllers, servers
# and workers. Hosts die, are cut off and come back, and a rack is lost with the
# leading controller. The final weights are, bit by bit, those of an undisturbed
# training: under bsp no push is lost or doubled.

load lab.bash

started=()
code=

EPOCHS=40
ROWS=2000

setup_file() {
    lab_environment
    # The result of an undisturbed training, once for all tests.
    "$BUILD/psnode" train drift --epochs $EPOCHS --set rows=$ROWS \
        --servers 1 --workers 2 --parts 2 -o json >"$BATS_FILE_TMPDIR/alone.json"
}

teardown() {
    lab_down
}

# node NAME HOST ROLE OPTION...: one process of the cluster.
node() {
    start "$1" "$2" "$BUILD/psnode" "$3" --key "$PWD/key" "${@:4}"
}

# workers HOST...: on each one of them; they report each epoch.
workers() {
    first_worker=${#started[@]}
    for host in "$@"; do
        node "worker.$host" "$host" worker --join "$controllers" \
            --workers $# --parts 2 train drift --epochs $EPOCHS --set rows=$ROWS -o jsonl
    done
}

digest() {
    sed 's/.*"digest":"\([0-9a-f]*\)".*/\1/' | tail -n 1
}

# All workers end well, and with the weights of an undisturbed process.
workers_end_right() {
    for pid in "${started[@]:first_worker}"; do
        ends "$pid"
        [ "$code" -eq 0 ]
    done
    head -n 3 ./*.err
    want=$(digest <"$BATS_FILE_TMPDIR/alone.json")
    [ ${#want} -eq 16 ]
    for out in worker.*.out; do
        [ "$(digest <"$out")" = "$want" ]
    done
    # Every sample of every epoch counts once, for whichever worker.
    cat worker.*.out | awk -F'"samples":' -v rows=$ROWS -v epochs=$EPOCHS '
        NF > 1 { sum += $2 } END { print sum; exit sum != rows * epochs }'
}

reached() {
    grep -q "\"epoch\":$1," worker.*.out
}

# Waits for two epochs that began after the last action.
goes_on() {
    local last
    last=$(cat worker.*.out | sed -n 's/{"epoch":\([0-9]*\),.*/\1/p' | sort -n |
        tail -n 1)
    until_true 60 reached $((last + 3))
}

@test "a host with a server dies, another is cut off and comes back" {
    lab_up 2 3
    controllers=tcp://h0:7100
    node c h0 controller --index 0 --peers $controllers --dir "$PWD/c0" \
        --servers 3
    for host in h1 h2 h3; do
        node "server.$host" $host server --join $controllers
    done
    for host in h1 h2 h3; do
        until_true 20 grep -q "server is ready at tcp://$(address $host):" \
            "server.$host.out"
    done
    workers h4 h5
    until_true 60 reached 1
    netlab kill h3
    goes_on
    netlab cut h2
    goes_on
    netlab heal h2
    until_true 60 grep -q 'rejoining' server.h2.err
    workers_end_right
}

@test "a rack is lost with the controller that leads" {
    lab_up 3 2
    controllers=tcp://h0:7100,tcp://h2:7100,tcp://h4:7100
    for i in 0 1 2; do
        node "c$i" "h$((2 * i))" controller --index $i --peers $controllers \
            --dir "$PWD/c$i" --servers 3 -v
    done
    for host in h1 h3 h5; do
        node "server.$host" $host server --join $controllers
    done
    for host in h1 h3 h5; do
        until_true 20 grep -q 'server is ready' "server.$host.out"
    done
    leader=$(sed -n 's/controller \(.\) leads/\1/p' c0.err | tail -n 1)
    other=$(((leader + 1) % 3))
    # Both in racks that stay.
    workers "h$((2 * other))" "h$((2 * other + 1))"
    until_true 60 reached 1
    netlab cut "r$leader"
    workers_end_right
}

# As a launcher does it: by SIGTERM, to a process that knows its cluster from
# the environment. A worker wants to be restarted; a server has handed over its
# slots.
@test "the exit status of a process that an engine ends requests a restart, or not" {
    lab_up 1 3
    controllers=tcp://h0:7100
    node c h0 controller --index 0 --peers $controllers --dir "$PWD/c0" \
        --servers 2
    export GW_CONTROLLERS=$controllers GRADWIRE_KEY=$PWD/key
    for host in h1 h2; do
        start "server.$host" $host "$BUILD/psnode" server
        until_true 20 grep -q 'server is ready' "server.$host.out"
    done
    server=${started[-1]}
    start worker.h0 h0 "$BUILD/psnode" worker --workers 1 train drift \
        --epochs 100000 -o jsonl
    worker=${started[-1]}
    until_true 60 reached 1
    kill -TERM "$server"
    ends "$server"
    [ "$code" -eq 0 ]
    [ ! -s server.h2.err ]
    kill -TERM "$worker"
    ends "$worker"
    [ "$code" -eq 75 ]
}
