#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# up --algo: imported schedules and plan files in the elastic ring.

# shellcheck disable=SC2154 # run sets stderr
load elastic_ring

# A ring of three, in which one transfer carries a whole buffer.
make_chain() {
    cat >chain.plan <<'PLAN'
allreduce ranks=3 chunks=1
step 2>1 c0 +
step 1>0 c0 + @1
step 0>1 c0 = @1
step 1>2 c0 =
PLAN
}

@test "an imported plan with channels survives a kill in the middle of an op" {
    for wire in shm tcp; do
        ringctl --timeout 100s -c "up 8 ops --wire $wire --count 9 --bytes 32K --algo $FORMATS/hierarchical.xml --lockstep 'at op 3 transfer 30 crash 5; at op 6 restart 5'; wait done && op>=9; status -o json" |
            grep '"schema":"ringctl status"' >status.json
        fact lost 0
        fact doubled 0
        fact op 9
        fact alive 8
        fact ops_exclude 1
        fact algo hierarchical_plan
        fact chunks_kept 3
        fact chunks_redone 2
        fact chunks_fresh 3
        cp status.json "$wire.json"
    done
    digests() { grep -o '"digest":"[0-9a-f]*"' "$1" | sort -u; }
    [ "$(digests shm.json)" = "$(digests tcp.json)" ]
}

@test "a final copy that has reached a survivor of an imported plan is spread" {
    ringctl --timeout 100s -c "up 4 ops --count 4 --algo $FORMATS/forest-allreduce.xml --lockstep 'at op 2 transfer 4 crash 2'; wait done && op>=4; status -o json" |
        grep '"schema":"ringctl status"' >status.json
    fact lost 0
    fact doubled 0
    grep -q '"fate":"forward","op":2' status.json
}

@test "without a plan for the new size the built-in one is used, and this is reported" {
    ringctl up 4 ops --name mix --pace 1ms --algo "$FORMATS/forest-allreduce.xml" 2>/dev/null
    ringctl record
    ringctl wait 'op>=3'
    run -0 ringctl status
    [[ $output = *"plan: forest_allreduce"* ]]
    ringctl kill 1
    ringctl wait 'epoch==2 && op>=6'
    run -0 ringctl status
    [[ $output = *"plan: built-in; --algo has none for 3 members"* ]]
    ringctl restart 1
    ringctl wait 'epoch==3 && op>=9'
    ringctl status -o json >status.json
    fact algo forest_allreduce
    fact lost 0
    fact doubled 0
    ringctl record off
    run -0 ringctl events
    [[ $output = *"epoch 2: 3 members, built-in plan"* ]]
    [[ $output = *"epoch 3: 4 members, given plan, 1 chunk"* ]]
}

@test "several files give plans for several sizes" {
    make_chain
    ringctl up 4 ops --name two --pace 1ms --algo "$FORMATS/forest-allreduce.xml,chain.plan" 2>/dev/null
    ringctl wait 'op>=3'
    ringctl kill 0
    ringctl wait 'epoch==2 && op>=6'
    run -0 ringctl status
    [[ $output = *"plan: chain"* ]]
    ringctl status -o json >status.json
    fact lost 0
    fact doubled 0
}

@test "a plan that the ring cannot run is refused before anything starts" {
    make_chain
    sed 's/step 1>2.*//' chain.plan >short.plan
    cat >orders.plan <<'PLAN'
allreduce ranks=4 chunks=1
step 0>1 c0 +  1>0 c0 +
step 2>0 c0 +  3>0 c0 +  2>3 c0 +  3>2 c0 +
step 2>1 c0 +
step 0>2 c0 =  0>3 c0 =
PLAN
    while IFS='|' read -r size list reason; do
        run --separate-stderr ringctl up "$size" ops --algo "$list"
        [ "$status" -ne 0 ]
        [[ $stderr = *"$reason"* ]] || {
            printf '%s\n' "$stderr"
            false
        }
    done <<LIST
2|$FORMATS/channels.xml|channels.xml is a plan for allgather, not for allreduce
2|$FORMATS/cycle.xml|cycle.xml:5: gpu 0, tb 0, step 1: the steps wait for each other in a cycle
3|short.plan|3 ranks:
4|chain.plan|the plan is for 3 ranks, not for 4; start 3 members, or add a plan for 4
4|chain.plan,$FORMATS/rrcs-ring.xml|no plan is for 4 members; add one
4|orders.plan|ranks 0 and 1 add chunk 0 in different orders
2|none.plan|none.plan
2|ring,,swing|a name is empty
LIST
    run -0 --separate-stderr ringctl ls
    [[ $output$stderr = *"no runs yet"* ]]
}

@test "--algo is refused where members do not take it" {
    run --separate-stderr ringctl up 2 --servers 1 --algo ring
    [ "$status" -ne 0 ]
    [[ $stderr = *"--algo is only for rings, not for servers"* ]]
    run --separate-stderr ringctl up 2 --algo ring exec true
    [ "$status" -ne 0 ]
    [[ $stderr = *"--algo is only for train and ops"* ]]
    run --separate-stderr ringctl sim servers --algo ring
    [ "$status" -ne 0 ]
    [[ $stderr = *"--algo is only for rings, not for servers"* ]]
}

@test "sim: the plan runs, and its rules hold under the faults of many seeds" {
    run -0 ringctl sim ring -n 4 --faults none --algo "$FORMATS/forest-allreduce.xml" --events -
    [ "$(grep '"send"' <<<"$output" | grep -c '"op":2,')" -eq 6 ]
    [[ $output = *'"kind":"epoch","epoch":1,"chunk":1,"bytes":0,"value":4'* ]]
    for list in rabenseifner double_tree "$FORMATS/forest-allreduce.xml"; do
        run -0 ringctl sim ring -n 4 --seeds 1..40 --algo "$list" -o jsonl
        [[ $output = *'"violations":0'* ]]
    done
}

# A star: rank 0 sends each of 256 chunks to three others.
@test "sim: a plan with too many transfers at one member is refused" {
    {
        printf 'allreduce ranks=4 chunks=256\nstep'
        printf ' %s +' {1..3}'>0 c'{0..255}
        printf '\nstep'
        printf ' %s =' '0>'{1..3}' c'{0..255}
        echo
    } >star.plan
    run -64 --separate-stderr ringctl sim ring -n 4 --algo star.plan
    [[ $stderr = *"plan star has 768 transfers at one of 4 members; the simulation supports at most 512"* ]]
}
