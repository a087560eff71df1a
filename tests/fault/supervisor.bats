#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# A run and its supervisor under faults. Nodes and controllers die, hang, are
# cut off, leave and come back, the supervisor is killed, and requests are
# invalid. No test sleeps: `wait` waits for conditions.

load ../until.bash

setup_file() {
    bats_require_minimum_version 1.5.0
    RINGCTL=$(realpath "${RINGCTL:-${B:-build}/ringctl}")
    TESTS=$BATS_TEST_DIRNAME
    export RINGCTL TESTS
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

ringctl() {
    "$RINGCTL" "$@" --timeout 120s
}

# The processes of the run of that name, by their command lines.
processes() {
    grep -lsa "ringctl.--internal.*.$1/[0-9]" /proc/[0-9]*/cmdline | wc -l
}

supervisor_of() {
    sed -n 's/.*"pid": \([0-9]*\).*/\1/p' "runs/$1/run.json"
}

is_gone() {
    [ "$(processes "$1")" = 0 ]
}

# All members do more ops.
go_on() {
    local op
    op=$(ringctl status -o json | sed 's/.*"epoch":[0-9]*,"step":[0-9]*,"op":\([0-9]*\).*/\1/')
    ringctl wait "op>=$((op + 20))"
}

@test "training survives a death and a newcomer, and loses nothing" {
    ringctl -c 'up 4 train lr rows.libsvm --epochs 200
                wait step>=20
                kill 2
                wait epoch>=2
                add
                wait alive==4
                wait done
                expect lost==0 && doubled==0
                status -o json' >out.txt
    grep '^node 2 was killed: epoch 2, ring 0 1 3$' out.txt
    grep -E '"samples_lost": ?0\b' out.txt
    grep -E '"samples_doubled": ?0\b' out.txt
    grep -E '"train_accuracy": ?0.[89]' out.txt
}

@test "a node that hangs is declared dead, and comes back by itself" {
    ringctl up 4 ops --bytes 4K --pace 1ms --name hang --keep
    ringctl wait 'op>=20'
    ringctl pause 2
    ringctl wait 'epoch>=2 && alive==3'
    run -64 ringctl pause 2
    [[ $output == *"node 2 is already paused"* ]]
    run -64 ringctl resume 3
    [[ $output == *"node 3 is not paused"* ]]
    ringctl resume 2
    ringctl wait 'epoch>=3 && alive==4'
    ringctl expect 'lost==0 && doubled==0'
    ringctl down
    [ "$(processes hang)" = 0 ]
}

@test "leaving, draining, coming back; the last member stays" {
    ringctl up 3 ops --bytes 4K --pace 1ms --name leave --keep
    run -0 ringctl stop 1
    [[ $output == "node 1 left: epoch 2, ring 0 2"* ]]
    run -64 ringctl kill 1
    [[ $output == *"node 1 has already left"* ]]
    run -0 ringctl restart 1
    [[ $output == "node 1 was restarted: "* ]]
    ringctl wait alive==3
    run -0 ringctl restart 2
    [[ $output == "node 2 was restarted: "* ]]
    ringctl wait alive==3
    run -0 ringctl drain 0
    [[ $output == "node 0 left: "* ]]
    ringctl kill 1
    run -64 ringctl kill 2
    [[ $output == *"cannot kill 2: it is the last member"* ]]
    run -64 ringctl stop 2
    [[ $output == *"cannot stop 2: it is the last member"* ]]
    run -64 ringctl kill 8
    [[ $output == *"node 8 does not exist"* ]]
    ringctl add 2
    ringctl wait alive==3
    ringctl expect 'lost==0 && doubled==0'
    ringctl down
}

# All workers of the run are killed at once, without the supervisor.
@test "a ring that loses its state reports it and starts again" {
    ringctl up 2 ops --bytes 4K --pace 1ms --name lost
    ringctl wait 'op>=5'
    run -0 ringctl status -o json
    [[ $output == *'"text":""'* ]]
    # shellcheck disable=SC2046 # one word a worker
    kill -KILL $(grep -o '"role":"worker","state":"alive","pid":[0-9]*' \
        <<<"$output" | sed 's/.*://')
    ringctl wait 'alive==0'
    ringctl restart 0
    ringctl restart 1
    ringctl wait 'alive==2 && op>=5'
    run -0 ringctl status -o json
    [[ $output == *"the ring has lost its state: all members that had it are dead; it has been restarted"* ]]
    grep "the ring has lost its state" runs/lost/log
    ringctl expect 'lost==0 && doubled==0'
    ringctl down
}

@test "a cut parks the smaller side, which rejoins when it is healed" {
    ringctl up 5 ops --bytes 4K --pace 1ms --name cut --keep
    run -0 ringctl cut '0,1|2,3,4'
    [[ $output == "0 1 cut off from 2 3 4 c0: "* ]]
    ringctl wait 'parked==2 && alive==3'
    # A node that is restarted on the far side finds its links down.
    ringctl restart 0
    ringctl wait 'op>=200'
    ringctl expect 'alive==3'
    ringctl heal
    ringctl wait 'parked==0 && alive==5'
    ringctl expect 'lost==0 && doubled==0'
    ringctl down
}

@test "of three controllers one may die; with two dead the ring parks" {
    ringctl up 4 ops --bytes 4K --pace 1ms --controllers 3 --name quorum --keep
    run -0 ringctl kill leader
    [[ $output == *"2 of 3 controllers are alive"* ]]
    run -0 ringctl kill 3
    [[ $output == "node 3 was killed: epoch 2, ring 0 1 2"* ]]
    go_on # all three have heard of epoch 2
    ringctl kill leader
    go_on
    run -0 ringctl kill 2
    [[ $output == "node 2 was killed; no new epoch yet: 1 of 3 controllers is left, the ring is parked"* ]]
    ringctl wait 'parked==2'
    for c in 0 1 2; do
        ringctl restart controller $c || true
    done
    ringctl wait 'parked==0 && epoch>=3 && controllers==3'
    ringctl expect 'lost==0 && doubled==0'
    ringctl down
}

@test "commands wait for an election: the leader can be killed twice in a row" {
    ringctl up 2 --controllers 5 --name heirs --keep
    run -0 ringctl kill leader
    [[ $output == *"4 of 5 controllers are alive"* ]]
    run -0 ringctl kill leader
    [[ $output == *"3 of 5 controllers are alive"* ]]
    run -0 ringctl status -o json
    [[ $output == *'"controllers_alive":3'* ]]
    ringctl kill leader
    run -64 ringctl kill leader
    [[ $output == *"no controller leads: 2 of 5 are alive"* ]]
    ringctl down
}

@test "without an elected leader, kill leader is an error with the number of controllers" {
    ringctl up 2 --controllers 3 --name apart --keep
    ringctl cut 'c0|c1,c2'
    ringctl cut 'c1|c0,c2'
    ringctl kill leader || true # unless it has given up by itself
    run -124 "$RINGCTL" kill leader --timeout 300ms
    [[ $output == *"kill: no controller leads after 0.3"*" s; "?" of 3 are alive, but none has been elected"* ]]
    ringctl heal
    ringctl pause leader
    ringctl down
}

@test "a killed supervisor takes its processes with it, and up works again" {
    ringctl up 3 ops --bytes 4K --pace 1ms --controllers 3 --name orphan --keep
    ringctl pause 1
    [ "$(processes orphan)" = 6 ]
    kill -KILL "$(supervisor_of orphan)"
    until_true 60 is_gone orphan
    run -0 "$RINGCTL" status
    [[ $output == *"state: died"* ]]
    ringctl up 3 --name orphan --keep
    ringctl expect alive==3
    ringctl down
    [ "$(processes orphan)" = 0 ]
}

@test "SIGTERM ends a run as down does" {
    ringctl up 3 ops --bytes 4K --pace 1ms --name term --keep
    supervisor=$(supervisor_of term)
    kill -TERM "$supervisor"
    tail -f --pid="$supervisor" /dev/null
    [ "$(processes term)" = 0 ]
    grep '"state": "ended"' runs/term/summary.json
}

@test "two runs work at a time, but not with the same name" {
    ringctl up 2 --name one --keep
    ringctl up 2 --name two --keep
    run -64 ringctl up 2 --name one
    [[ $output == *"a run one already exists"* ]]
    ringctl expect alive==2 --run one
    ringctl down --run one
    ringctl expect alive==2 --run two
    ringctl down --run two
    ringctl up 2 --name one --keep
    ringctl down --run one
}

@test "mistakes in the data are reported before any process starts" {
    run -65 ringctl up 2 train lr nowhere.libsvm --name bad
    [[ $output == *"nowhere.libsvm: no such file"* ]]
    echo '1 1:x' >broken.libsvm
    run -65 ringctl up 2 train lr broken.libsvm --name bad
    [[ $output == *"broken.libsvm:1:5"* ]]
    [ "$(processes bad)" = 0 ]
    mkdir -p runs/mine
    touch runs/mine/precious
    run -64 ringctl up 2 --name mine
    [[ $output == *"is not the directory of a run"* ]]
    [ -e runs/mine/precious ]
}

@test "invalid requests are refused, and do no harm" {
    # shellcheck disable=SC2046
    ${CC:-cc} -o rubbish "$TESTS/rubbish.c" $(pkg-config --cflags --libs libzmq)
    ringctl up 2 --name rubbish --keep
    run -0 ./rubbish "$(cat runs/rubbish/endpoint)" 1
    [[ ${lines[-1]} == "0 unanswered" ]]
    ringctl expect 'alive==2 && epoch==1'
    ringctl down
}

@test "a recording on a full disk ends, and the run continues" {
    ringctl up 2 ops --bytes 4K --pace 1ms --name full --keep
    ringctl record /dev/full
    ringctl wait 'op>=500'
    ringctl expect alive==2
    # It notices when its buffer is full.
    ops=500
    until ringctl record run.jsonl; do
        ops=$((ops + 500))
        [ "$ops" -lt 50000 ]
        ringctl wait "op>=$ops"
    done
    ringctl wait "op>=$((ops + 500))"
    ringctl kill 1
    run -0 ringctl record off
    [[ $output == *"events recorded in"* ]]
    grep -q '"kind":"failure"' run.jsonl
    ringctl down
}

@test "the name of a run is free as soon as down has answered" {
    [ -z "${SAN:-}" ] || skip "sanitizers must be loaded first"
    # The supervisor takes two seconds more to end after its answer.
    printf '%s\n' '#include <dlfcn.h>' '#include <unistd.h>' \
        'int zmq_ctx_term(void *c) {' \
        '    if (getenv("ENDS_LATE")) sleep(2);' \
        '    return ((int (*)(void *))dlsym(RTLD_NEXT, "zmq_ctx_term"))(c);' \
        '}' >late.c
    ${CC:-cc} -D_GNU_SOURCE -include stdlib.h -fPIC -shared -o late.so late.c
    ENDS_LATE=1 LD_PRELOAD=$PWD/late.so ringctl up 2 --name again
    "$RINGCTL" down --run again
    ringctl up 2 --name again
}
