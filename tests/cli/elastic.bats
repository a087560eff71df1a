#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# labs/programs/elastic.c, whose processes come and go, on this host: the
# largest and smallest number of members, and the time for which they wait for
# more. tests/net/ring.bats has several hosts.
# shellcheck disable=SC2154 # find_port sets port

load ../until.bash

setup_file() {
    bats_require_minimum_version 1.5.0
    BUILD=$(realpath "${B:-build}")
    ELASTIC=$BATS_FILE_TMPDIR/elastic
    export BUILD ELASTIC
    for name in $(compgen -e | grep -E '^(GW|PMI|PMIX|OMPI|SLURM|MASTER)_'); do
        unset "$name"
    done
    unset GRADWIRE_KEY
    # shellcheck disable=SC2086
    ${CC:-cc} -Wall -Wextra -Werror -o "$ELASTIC" labs/programs/elastic.c \
        -I lib/include -L "$BUILD" -lgradwire -Wl,-rpath,"$BUILD" ${SAN:-}
}

# A controller that lets two begin.
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    pids=()
    find_port
    export GW_CONTROLLERS=tcp://127.0.0.1:$port
    start controller "$BUILD/psnode" controller --index 0 --dir c --ring 2
}

teardown() {
    [ -z "${pids[*]}" ] || kill -KILL "${pids[@]}" 2>/dev/null || true
}

# start NAME COMMAND...: its pid is then `pid`.
start() {
    "${@:2}" >"$1.out" 2>"$1.err" </dev/null 3>&- &
    pid=$!
    pids+=("$pid")
}

has_joined() {
    grep -q '^joined: ' "$1.out"
}

has_ended() {
    ! kill -0 "$1" 2>/dev/null
}

# wants_restart PID NAME SENTENCE: it ends with status 75 and that message.
wants_restart() {
    code=0
    until_true 60 has_ended "$1"
    wait "$1" || code=$?
    cat "$2.err"
    [ "$code" -eq 75 ]
    grep -qF "$3" "$2.err"
}

@test "a full ring refuses new members, and too few members do not wait forever" {
    export GW_MIN_SIZE=2 GW_MAX_SIZE=2 GW_PATIENCE=3s
    start a "$ELASTIC" 100000 && a=$pid
    start b "$ELASTIC" 100000 && b=$pid
    until_true 60 has_joined a
    until_true 60 has_joined b
    start c "$ELASTIC" 100000
    wants_restart "$pid" c 'the ring already has its 2 members'
    kill -KILL "$a"
    wants_restart "$b" b \
        'the ring has 1 of at least 2 members, after 3 s; start more'
}

@test "too few members wait until another one joins" {
    export GW_MIN_SIZE=2 GW_MAX_SIZE=3 GW_PATIENCE=1m
    start a "$ELASTIC" 300 && a=$pid
    start b "$ELASTIC" 300 && b=$pid
    until_true 60 has_joined a
    until_true 60 has_joined b
    kill -KILL "$a"
    start c "$ELASTIC" 300
    until_true 60 has_joined c
    wait "$b"
    wait "$pid"
    grep -q '^done: .* 2 members, .* lost 0, doubled 0$' b.out
}

@test "without controllers it ends with the status for another start" {
    export GW_PATIENCE=3s
    controller=$pid
    start a "$ELASTIC" 100000 && a=$pid
    start b "$ELASTIC" 100000 && b=$pid
    until_true 60 has_joined a
    until_true 60 has_joined b
    kill -KILL "$controller" "$a"
    wants_restart "$b" b 'a majority of the controllers has been unreachable for 3 s'
}

@test "bounds that make no sense are refused" {
    GW_MIN_SIZE=3 GW_MAX_SIZE=2 start a "$ELASTIC" 1
    wants_restart "$pid" a 'GW_MIN_SIZE is 3; it must not exceed GW_MAX_SIZE, which is 2'
    GW_PATIENCE=soon start a "$ELASTIC" 1
    wants_restart "$pid" a 'GW_PATIENCE: '
}

# Without the controller of setup: ringctl brings its own.
@test "up N exec: a program is a node that is killed, added, paused, slowed and stopped" {
    unset GW_CONTROLLERS
    run -0 "$BUILD/ringctl" --timeout 60s -c "up 4 --name program exec $ELASTIC 1000000
        wait step>=20
        kill 2
        wait alive==3
        add
        wait alive==4
        pause 1
        wait alive==3
        resume 1
        wait alive==4
        slow 0 10ms
        stop 3
        wait alive==3
        drain 4
        wait alive==2
        expect lost==0 && doubled==0
        status"
    echo "$output"
    [[ $output = *"node 2 (exit)"*"node 3 (left)"*"node 4 (left)"* ]]
    [ "$(grep -c '^leaves: ' runs/program/log)" -ge 2 ]
    grep -q '^joined: node 4, op [1-9]' runs/program/log
}

@test "up N exec: the run is done when the programs have ended, with their own options" {
    unset GW_CONTROLLERS
    run -0 "$BUILD/ringctl" --timeout 60s -c "up 3 --name ends exec sh -c '$ELASTIC 30; exit'
        wait done
        expect lost==0 && doubled==0 && step==30"
    echo "$output"
    [ "$(grep -c '^done: ' runs/ends/log)" -eq 3 ]
    run -1 grep 'lost its state' runs/ends/log
    run -0 "$BUILD/ringctl" -c "up 1 --name options exec $ELASTIC 3 --timeout 7
        wait done"
}

@test "up N exec: a missing program, and one that ends, are errors that name it" {
    unset GW_CONTROLLERS
    run -64 "$BUILD/ringctl" up 2 exec ./no-such
    [[ $output = *"exec: ./no-such: No such file"* ]]
    run "$BUILD/ringctl" up 2 exec false
    [ "$status" -ne 0 ]
    [[ $output = *"exited with status 1"* ]]
    run -64 "$BUILD/ringctl" up 2 exec
    [[ $output = *"missing PROGRAM"* ]]
    run -64 "$BUILD/ringctl" up 2 --lockstep none exec "$ELASTIC"
    run -64 "$BUILD/ringctl" up --servers 1 --workers 1 exec "$ELASTIC"
    [[ $output = *"only for rings"* ]]
    run -64 "$BUILD/ringctl" -c "up 1 exec $ELASTIC 100000; train ops"
    [[ $output = *"the members are a program"* ]]
    GW_SUPERVISED=0 run -75 "$ELASTIC" 3
    [[ $output = *"not the socket of a supervisor"* ]]
}
