#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Unusual hosts: other users' processes are hidden in /proc, the clocks of
# processes differ by a day, and processes stop for twenty seconds.

load ../until.bash

setup() {
    bats_require_minimum_version 1.5.0
    RINGCTL=$(realpath "${RINGCTL:-${B:-build}/ringctl}")
    PSNODE=$(realpath "${PSNODE:-${B:-build}/psnode}")
    pids=()
    cd "$BATS_TEST_TMPDIR" || return 1
    export GRADWIRE_RUNS=$BATS_TEST_TMPDIR/runs
}

teardown() {
    [ -z "${pids[*]}" ] || kill -KILL "${pids[@]}" 2>/dev/null || true
    "$RINGCTL" down --all >/dev/null 2>&1 || true
}

# A death, and a pause that is long enough to be declared dead.
blows='up 4 ops --bytes 4K --pace 1ms; wait op>=20; kill 2; wait alive==3
    pause 1; wait alive==2; resume 1; wait alive==3; expect lost==0 && doubled==0'

@test "a ring runs where /proc shows only one's own processes (hidepid=2)" {
    unshare -m -p -f true 2>/dev/null || skip "no namespace of its own can be made here"
    unshare -m -p -f sh -c "mount -t proc -o hidepid=2 proc /proc &&
        exec '$RINGCTL' --timeout 120s -c '$blows'" 3>&- 4>&-
}

# start NAME [NAMESPACE] ARGUMENTS: starts a psnode process, and waits until it
# is ready.
start() {
    "${@:2}" >"$1.out" 2>&1 </dev/null 3>&- 4>&- &
    pids+=($!)
    until_true 60 grep -q 'is ready' "$1.out"
}

@test "clocks that are a day apart: a server dies, and the training ends well" {
    unshare -T --monotonic 1 true 2>/dev/null || skip "no clock of its own can be made here"
    find_port
    # shellcheck disable=SC2154 # find_port sets it
    join=tcp://127.0.0.1:$port
    ahead=(unshare -T --monotonic)
    start controller "$PSNODE" controller --peers "$join" --dir c --servers 2
    start one "$PSNODE" server --join "$join"
    start other "${ahead[@]}" 86400 "$PSNODE" server --join "$join"
    "${ahead[@]}" 200000 "$PSNODE" worker --join "$join" --workers 1 --timeout 60s \
        train drift --epochs 40 --set rows=500 >worker.out 2>&1 3>&- 4>&- &
    worker=$!
    pids+=("$worker")
    until_true 60 grep -q . worker.out
    kill -KILL "${pids[1]}"
    wait "$worker" || { cat worker.out; return 1; }
    grep -q 'digest' worker.out
}

# stop_long NAME OPTION...: stops that process of a run for twenty seconds.
stop_long() {
    "$RINGCTL" --timeout 120s up "${@:2}" --name long 3>&- 4>&-
    "$RINGCTL" --run long pause "$1"
    sleep 20 # what is tried is the length
    "$RINGCTL" --run long resume "$1"
}

@test "a member of a ring that stops for twenty seconds comes back" {
    [ -n "${SLOW-}" ] || skip "it takes 20 s; SLOW=1 has it"
    stop_long 1 4 ops --bytes 4K --pace 1ms
    "$RINGCTL" --run long --timeout 60s -c 'wait alive==4; expect lost==0 && doubled==0'
}

@test "a server, a worker and a controller that stop for twenty seconds come back" {
    [ -n "${SLOW-}" ] || skip "it takes 60 s; SLOW=1 has it"
    for who in s1 w1 c0; do
        stop_long "$who" --servers 3 --workers 2 --controllers 3 || return 1
        "$RINGCTL" --run long --timeout 60s -c 'wait servers==3 && workers==2 && controllers==3
            expect lost==0 && doubled==0'
        "$RINGCTL" --run long down
    done
}
