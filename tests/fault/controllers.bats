#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Three controllers are killed, paused and restarted while nodes come and go, so
# that log entries are always under way. No controller may end by itself, and
# the run must continue. The rounds are drawn from a seed, which is printed;
# SEED repeats one, ROUNDS sets their number. Slow disks are tested in
# tests/unit/test_raft_log_slow.c. A controller with a damaged log must refuse
# to start (see also tests/unit/test_raft_dir.c and test_raft_damage.c).

load ../until.bash

setup() {
    bats_require_minimum_version 1.5.0
    RINGCTL=$(realpath "${RINGCTL:-${B:-build}/ringctl}")
    PSNODE=$(realpath "${PSNODE:-${B:-build}/psnode}")
    pids=()
    cd "$BATS_TEST_TMPDIR" || return 1
    export GRADWIRE_RUNS=$BATS_TEST_TMPDIR/runs
    port=0
    RANDOM=${SEED:=$((RANDOM + 1))}
    rounds=${ROUNDS:-${SLOW:+40}}
    echo "seed $SEED, ${rounds:=6} rounds"
}

teardown() {
    [ -n "${BATS_TEST_COMPLETED-}" ] || grep -sa '^controller' runs/storm/log || true
    [ -z "${pids[*]}" ] || kill -KILL "${pids[@]}" 2>/dev/null || true
    [ ! -e runs/storm/endpoint ] || "$RINGCTL" down --run storm
}

ringctl() {
    "$RINGCTL" "$@" --run storm --timeout 120s
}

# A node goes and comes, with or without a leader.
disturb() {
    local node=$((RANDOM % 4))
    "$RINGCTL" kill $node --run storm --timeout 200ms || true
    "$RINGCTL" restart $node --run storm --timeout 200ms || true
}

kill_leader() {
    run -0 ringctl kill leader
    local killed=${output#controller }
    disturb
    ringctl restart controller "${killed%% *}"
}

kill_any() {
    local any=$((RANDOM % 3))
    ringctl kill controller $any
    disturb
    ringctl restart controller $any
}

pause_leader() {
    run -0 ringctl pause leader
    local paused=${output#controller }
    disturb
    ringctl resume controller "${paused%% *}"
}

storm() {
    ringctl up 4 ops --bytes 4K --pace 1ms --controllers 3 --keep --name storm
    for ((round = 0; round < rounds; round++)); do
        faults=(kill_leader pause_leader kill_any)
        fault=${faults[RANDOM % 3]}
        echo "round $round: $fault"
        $fault
        ringctl wait 'controllers==3 && parked==0 && alive==4'
    done
    run -1 grep 'killed by signal' <(grep '^controller' runs/storm/log | grep -v 'signal 9 ')
}

@test "controllers that are killed, paused and restarted never crash" {
    storm
}

@test "controllers with a key that are killed, paused and restarted never crash" {
    "$RINGCTL" keygen storm.key
    export GRADWIRE_KEY=$PWD/storm.key
    storm
}

# ---- a port that another process has ----

# control NAME: starts the only controller in ./c0, and waits until it is ready.
control() {
    "$PSNODE" controller --peers "tcp://127.0.0.1:$port" --dir c0 \
        "${@:2}" >"$1.out" 2>"$1.err" </dev/null 3>&- &
    pids+=($!)
    until_true 60 grep -q 'is ready' "$1.out"
}

@test "a port that another process has is reported; a single controller needs only its own" {
    find_port
    taken=$((port + 1))
    "$PSNODE" controller --peers "tcp://127.0.0.1:$taken" --dir other >other.out 2>&1 \
        </dev/null 3>&- &
    pids+=($!)
    until_true 60 grep -q 'is ready' other.out
    run -70 timeout 60 "$PSNODE" controller --dir c0 --index 0 \
        --peers "tcp://127.0.0.1:$port,tcp://127.0.0.1:7,tcp://127.0.0.1:9" </dev/null 3>&-
    [[ $output = *"cannot listen at 127.0.0.1:$taken; another process may have the port" ]]
    control single
}

# ---- a damaged log ----

# Ends the last process, which holds its port until then.
kill_last() {
    kill -KILL "${pids[-1]}"
    wait "${pids[-1]}" || true
}

# A log with some entries, of a killed controller.
make_log() {
    find_port
    control first
    "$PSNODE" server --join "tcp://127.0.0.1:$port" \
        >server.out 2>&1 </dev/null 3>&- &
    pids+=($!)
    until_true 60 grep -q 'is ready' server.out
    kill -KILL "${pids[@]}"
    wait "${pids[@]}" || true
}

refused() {
    run -65 timeout 60 "$PSNODE" controller \
        --peers "tcp://127.0.0.1:$port" --dir c0 </dev/null 3>&-
    echo "$output"
    [[ $output = "psnode: controller 0: c0"*$1* ]]
    [[ $output = *"Copy the directory of the leading controller"* ]]
    [[ $output = *"(--accept-loss)" ]]
}

@test "a damaged log is refused with its entry, until the loss is accepted" {
    make_log
    cp -r c0 intact
    printf '\x7f' | dd of=c0/open-1 bs=1 seek=300 conv=notrunc status=none
    refused "/open-1: byte "*": entry "*"checksum"
    for bytes in 700 300 8 7 0; do
        rm -r c0
        cp -r intact c0
        truncate -s $bytes c0/open-1
        refused "entr"
    done
    rm -r c0
    cp -r intact c0
    control whole
    [ ! -s whole.err ]
    kill_last
    printf '\x7f' | dd of="$(find c0 -name '*2-*')" bs=1 seek=300 conv=notrunc status=none
    refused "its checksum is wrong"
    control short --accept-loss
    grep 'this loss is accepted' short.err
    [ -d c0/lost ]
    kill_last
    control again
    [ ! -s again.err ]
}
