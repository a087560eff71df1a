#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Three controllers that are killed, paused and restarted while nodes come and
# go, so that there are always entries on their way: none of them may end of its
# own, and the run must go on. The rounds are drawn from a seed, which is said;
# SEED repeats one, ROUNDS says how many. What a slow disk does to them is in
# tests/unit/test_raft_log_slow.c.

setup() {
    bats_require_minimum_version 1.5.0
    RINGCTL=$(realpath "${RINGCTL:-${B:-build}/ringctl}")
    cd "$BATS_TEST_TMPDIR" || return 1
    export GRADWIRE_RUNS=$BATS_TEST_TMPDIR/runs
    RANDOM=${SEED:=$((RANDOM + 1))}
    rounds=${ROUNDS:-${SLOW:+40}}
    echo "seed $SEED, ${rounds:=6} rounds"
}

teardown() {
    [ ! -e runs/storm/endpoint ] || "$RINGCTL" down --run storm
}

ringctl() {
    "$RINGCTL" "$@" --run storm --timeout 120s
}

# A node goes and comes, whether somebody leads or not.
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
    ringctl up 4 ops --bytes 4K --controllers 3 --keep --name storm
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

@test "nor do they behind a key" {
    "$RINGCTL" keygen storm.key
    export GRADWIRE_KEY=$PWD/storm.key
    storm
}
