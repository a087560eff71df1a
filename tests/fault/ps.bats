#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# A run of parameter servers under faults: servers, workers and controllers die,
# hang, are cut off, leave and join in the middle of a training, which must end
# with the same weights as an undisturbed one. No test sleeps: `wait` waits for
# conditions.

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
    export TRAIN="train lr rows.libsvm --test rows.libsvm --batch 30 --parts 4"
    # The digest at the end of every bsp run.
    cd "$BATS_FILE_TMPDIR" || return 1
    GRADWIRE_RUNS=$BATS_FILE_TMPDIR/runs "$RINGCTL" --timeout 120s -c "
        up --servers 1 --workers 1 $TRAIN
        wait done
        status -o json" | digest_of >digest
    grep -Eqx '[0-9a-f]{16}' digest
    DIGEST=$(cat digest)
    export DIGEST
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    export GRADWIRE_RUNS=$BATS_TEST_TMPDIR/runs
}

teardown() {
    for run in runs/*/endpoint; do
        [ ! -e "$run" ] || "$RINGCTL" down --run "$(basename "$(dirname "$run")")"
    done
}

digest_of() {
    sed -n 's/.*"result":{[^}]*"digest":"\([0-9a-f]*\)".*/\1/p'
}

ringctl() {
    "$RINGCTL" "$@" --timeout 120s
}

# Runs the commands on 3 servers and 4 workers that train slowly enough to be
# disturbed; the training must be correct at the end.
disturbed() {
    "$RINGCTL" --timeout 120s -c "
        up --servers 3 --workers 4 --replicas 3 --controllers 3 --mode bsp \\
            ${set:+--set $set} $TRAIN
        $1
        wait done
        expect lost==0 && doubled==0
        status -o json" >out.txt
    [ "$(digest_of <out.txt)" = "$DIGEST" ]
}

@test "a server dies and another one joins: the same weights, bit by bit" {
    disturbed 'wait step>=20
               kill server 0
               wait epoch>=2
               add --role server'
    grep -E '^server 0 was killed: epoch [0-9]+, 2 servers, 4 workers$' out.txt
    grep -E '^server 3 was added: ' out.txt
    grep -E '"names":\["server 0"\],"how":"exit"' out.txt
}

@test "a worker dies and another one joins: the same weights" {
    disturbed 'wait step>=20
               kill worker 1
               wait workers==3
               add
               wait workers==4'
    grep -E '^worker 4 was added: ' out.txt
}

@test "the worker that hosts the aggregator dies: the same weights" {
    set=aggregate=1
    disturbed 'wait step>=20
               kill worker 0
               wait workers==3
               add
               wait workers==4'
    grep -E '"aggregator_saved":[1-9]' out.txt
}

@test "controllers may die, also the leader" {
    disturbed 'wait step>=20
               kill leader
               wait step>=60
               kill s1
               wait servers==2'
}

@test "servers die one after the other: missing replicas are created again" {
    disturbed 'slow 0 2ms
               wait step>=10
               kill s0
               add --role server
               wait replicas==3
               kill s1
               add --role server
               wait replicas==3
               kill s2
               wait servers==2
               slow 0 off'
}

@test "a server that is paused beyond its lease is replaced, and comes back" {
    disturbed 'slow 0 2ms
               wait step>=10
               pause s0
               wait servers==2
               resume s0
               wait servers==3
               slow 0 off'
    grep -E '"names":\["server 0"\],"how":"silence"' out.txt
}

@test "a worker that is paused for a long time is replaced, and comes back" {
    disturbed 'slow 0 2ms
               wait step>=10
               pause w2
               wait workers==3
               resume w2
               wait workers==4
               slow 0 off'
}

@test "a worker without work that is paused for a long time comes back" {
    # One worker that has never had a unit, and one that has done all of them.
    run -0 ringctl -c 'up --servers 2 --workers 2 --slots 4
        pause w1
        wait workers==1
        resume w1
        wait workers==2'
    disturbed 'wait done
               pause w2
               wait workers==3
               resume w2
               wait workers==4'
}

@test "a server that is drained hands its slots over" {
    disturbed 'slow 0 2ms
               wait step>=10
               drain s1
               wait servers==2
               slow 0 off'
    grep -E '^server 1 (left|was asked to leave)' out.txt
}

@test "a worker that is stopped leaves its unit to others; restart" {
    disturbed 'slow 0 2ms
               wait step>=10
               stop w3
               wait workers==3
               restart w3
               wait workers==4
               restart s2
               wait servers==3
               slow 0 off'
    grep -E '^worker 3 left: ' out.txt
}

@test "a server that is cut off is replaced, and comes back when the cut is healed" {
    disturbed 'slow 0 2ms
               wait step>=10
               cut s0|s1,s2,0,1,2,3,c0,c1,c2
               wait servers==2
               heal
               wait servers==3
               slow 0 off'
}

@test "messages lost on a link are sent again" {
    disturbed 'link s0 s1 loss 5% delay 100us --both
               link w1 s2 loss 5%
               wait step>=20
               link s0 s1 clear --both
               link w1 s2 clear'
}

@test "the last server stays, and is named" {
    ringctl up --servers 2 --workers 1 --name last --keep
    ringctl kill s0
    run -64 ringctl kill server 1
    [[ $output == *"cannot kill server 1: it is the last server"* ]]
    run -64 ringctl drain s1
    [[ $output == *"it is the last server"* ]]
    run -64 ringctl kill s7
    [[ $output == *"server 7 does not exist"* ]]
    run -64 ringctl train ops
    [[ $output == *"ops are only for rings"* ]]
    ringctl train mf --epochs 1 --mode asp
    ringctl wait 'done'
    run -64 ringctl train mf
    [[ $output == *"trains once"* ]]
    ringctl expect 'lost==0 && doubled==0'
    ringctl down
}

@test "every mode finishes its plan through a death" {
    for mode in ssp:1 asp kofn:2; do
        ringctl -c "up --servers 2 --workers 3 train drift --mode $mode --epochs 3
                    wait step>=20
                    kill w0
                    wait step>=60
                    kill s0
                    wait done
                    expect lost==0 && doubled==0" >out.txt
    done
}

@test "the mode changes without interrupting the workers" {
    ringctl -c "up --servers 2 --workers 3 train drift --mode bsp --epochs 5
                wait step>=50
                mode kofn:2
                wait step>=100
                mode asp
                wait step>=200
                mode ssp:3
                wait step>=300
                mode bsp
                wait done
                expect lost==0 && doubled==0
                clocks" >out.txt
    grep -E '^the mode is kofn:2 from the next work item on, epoch ' out.txt
    grep -E '^# work: (bsp|ssp:3), step 1000, ' out.txt # as fast as it was
    run -64 ringctl -c 'up 2; mode asp'
    [[ $output == *"a ring has no mode"* ]]
}

@test "ps, slots and clocks show members, slots and clocks" {
    ringctl up --servers 3 --workers 2 --slots 8 --name look --keep
    ringctl train mf --epochs 2 --mode ssp:1
    ringctl wait 'done'
    run -0 ringctl slots -o csv
    [ "$(grep -c ',[012],"\?[012] [012] [012]' <<<"$output")" = 8 ]
    run -0 ringctl ps -o json
    [ "$(grep -o '"primaries":[23]' <<<"$output" | wc -l)" = 3 ]
    run -0 ringctl clocks -o json
    [[ $output == *'"staleness_1":'* ]]
    [[ $output != *'"staleness_2":'* ]]
    run -0 ringctl clocks
    [[ $output == *"# work: ssp:1, step 200, 400 of 400 items"* ]]
    ringctl down
    ringctl up 2 --name plain --keep
    run -64 ringctl slots
    [[ $output == *"this run is a ring"* ]]
    ringctl down
}

@test "a snapshot, and from there with another number of servers" {
    ringctl -c "up --servers 3 --workers 2 $TRAIN
                slow 0 1ms
                wait step>=50
                snapshot here
                down"
    ringctl -c "up --servers 2 --workers 2 --restore here $TRAIN
                wait done
                expect lost==0 && doubled==0
                status -o json" >out.txt
    [ "$(digest_of <out.txt)" = "$DIGEST" ]
    run -65 ringctl -c "up --servers 1 --restore nowhere $TRAIN"
    [[ $output == *nowhere* ]]
}

@test "a push of NaN ends the run as diverged, without a hang" {
    ringctl -c "up --servers 2 --workers 2 $TRAIN --lr 1e30 --set updater=sgd,l2=9
                wait done
                status -o json" >out.txt
    grep '"diverged":true' out.txt
    grep 'is not a finite number' out.txt
}
