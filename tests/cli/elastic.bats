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
