#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Members that come back, and the remains after several losses at once: failing
# joins are logged, a training parks with one controller of three, two replicas
# of three may die together. tests/fault/rejoin.sh has many pauses and
# resumptions.

setup_file() {
    bats_require_minimum_version 1.5.0
    RINGCTL=$(realpath "${RINGCTL:-${B:-build}/ringctl}")
    export RINGCTL
    # Two linearly separable classes, except for every tenth row.
    awk 'BEGIN {
        srand(1)
        for (i = 0; i < 3000; i++) {
            x = 2 * rand() - 1
            y = 2 * rand() - 1
            above = x + y > 0
            if (i % 10 == 0)
                above = !above
            print above ? 1 : -1, "1:" x, "2:" y
        }
    }' >"$BATS_FILE_TMPDIR/rows.libsvm"
    export GRADWIRE_DATA=$BATS_FILE_TMPDIR
    # The digest at the end of every bsp run.
    cd "$BATS_FILE_TMPDIR" || return 1
    GRADWIRE_RUNS=$BATS_FILE_TMPDIR/runs "$RINGCTL" --timeout 120s -c "
        up --servers 1 --workers 1 train lr rows.libsvm --test rows.libsvm \
            --batch 30 --parts 4
        wait done
        status -o json" | digest_of >digest
    DIGEST=$(cat digest)
    export DIGEST
}

setup() {
    load ../until
    cd "$BATS_TEST_TMPDIR" || return 1
    export GRADWIRE_RUNS=$BATS_TEST_TMPDIR/runs
}

teardown() {
    [ ! -e runs/back/endpoint ] || "$RINGCTL" down --run back
}

digest_of() {
    sed -n 's/.*"result":{[^}]*"digest":"\([0-9a-f]*\)".*/\1/p'
}

ctl() {
    "$RINGCTL" --run back --timeout 120s "$@"
}

# up OPTION...: a training that is slow enough to be disturbed, from its first
# step on.
up() {
    "$RINGCTL" --timeout 120s up --name back --workers 4 --controllers 3 \
        --mode bsp "$@" 3>&- 4>&-
    ctl slow 0 2ms
    ctl train lr rows.libsvm --test rows.libsvm --batch 30 --parts 4
    ctl wait 'step>=20'
}

# It ends with the weights of an undisturbed run.
ends_well() {
    ctl -c 'slow 0 off; wait done; expect lost==0 && doubled==0'
    [ "$(ctl status -o json | digest_of)" = "$DIGEST" ]
}

@test "a join that takes too long is logged" {
    known=runs/back/join-1-1.txt
    "$RINGCTL" --timeout 120s up 3 --name back --controllers 3 \
        ops --bytes 4K --pace 2ms 3>&- 4>&-
    ctl -c 'pause 1; wait alive==2; kill controller 1; kill controller 2; resume 1'
    # There is no leader to admit it.
    until_true 60 grep -q '^node 1 is not a member after [0-9.]* s: the state of all' \
        runs/back/log
    until_true 60 grep -q '^node 2, pid' $known
    until_true 60 grep -q '^controller 0, pid' $known
    cat $known
    run -124 "$RINGCTL" --run back --timeout 1s wait 'alive==3'
    [[ $output = *"node 1 is joining (see "*"/$known)"* ]]
    grep -q '^supervisor$' $known
    grep -q '^  registering, .* PARKED' $known
    grep -q '^  request: .* request 1, register' $known
    grep -q '^  leader: none, index' $known
    grep -q '^  node 1: [a-z ]* worker, incarnation' $known
    ctl -c 'restart controller 1; wait alive==3'
}

# parks HOW BACK: the commands that disturb and restore two controllers.
parks() {
    up --servers 3 --replicas 3
    ctl -c "$1 controller 0; $1 controller 1; wait parked==3"
    ctl status >out
    cat out
    grep -q '^# state: parked' out
    [ "$(grep -c 'no lease from the controllers' out)" -eq 3 ]
    ctl -c "$2 controller 0; wait parked==0; $2 controller 1"
    ends_well
}

@test "two of three controllers die: a training parks, reports it, and continues" {
    parks kill restart
}

@test "two of three controllers hang: a training parks, reports it, and continues" {
    parks pause resume
}

# kill_two SECONDS: kills two servers, with that time between the deaths; with
# 0, neither can react to the death of the other.
kill_two() {
    local pids
    read -r -a pids < <(ctl status -o json |
        grep -o '"role":"server","state":"alive","pid":[0-9]*' |
        sed 's/.*://' | head -n 2 | paste -sd ' ')
    [ "$1" != 0 ] || kill -STOP "${pids[@]:0:2}"
    kill -KILL "${pids[0]}"
    [ "$1" = 0 ] || sleep "$1"
    kill -KILL "${pids[1]}"
}

@test "two of three replicas die, at once or one soon after the other" {
    for between in 0 0.02 0.3; do
        up --servers 3 --replicas 3
        kill_two $between
        ends_well
        # Both recoveries are reported to their ends.
        ctl status >out
        cat out
        [ "$(grep '^# recovery: .* resumed ' out | grep -o 'server [0-9]' | sort -u | wc -l)" -eq 2 ]
        ctl down
    done
}

@test "both replicas of a slot die: the slot is reported lost" {
    up --servers 3 --replicas 2 --slots 6
    kill_two 0
    ctl wait 'lost>0' || { ctl status; cat runs/back/log; false; }
    run -124 "$RINGCTL" --run back --timeout 1s wait 'done'
    [[ $output =~ \ slots?\ (is|are)\ lost:\ all\ replicas\ are\ dead ]]
}

@test "sleeps at every step of the protocols, in virtual time" {
    cd "$BATS_TEST_DIRNAME/../.."
    run -0 tests/sim/sleeps.sh 100
    [[ $output = *" schedules, 0 failures" ]]
}
