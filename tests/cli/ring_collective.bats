#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# up --collective: ops of every collective in the elastic ring, by imported
# schedules with scratch and channels, and deaths in the middle of them.

# shellcheck disable=SC2154 # run sets stderr
load elastic_ring

facts() { # KEY VALUE ...
    while [ $# -gt 0 ]; do
        fact "$1" "$2"
        shift 2
    done
}

# lockstep SIZE COLLECTIVE FILE WIRE: a node dies at a transfer of step 1, and
# comes back before step 4; six steps.
lockstep() {
    ringctl --timeout 100s -c "up $1 ops --collective $2 --algo $FORMATS/$3 \
        --wire $4 --count 6 --bytes 24K \
        --lockstep 'at op 2 transfer 2 crash 1; at op 9 restart 1'; \
        wait done && step==6; expect lost==0 && doubled==0 && wrong==0; \
        status -o json" | grep '"schema":"ringctl status"' >status.json
    facts step 6 op 13 alive "$1" ops_exclude 1 collective "$2" \
        algo "$(basename "${3%.*}" | tr - _)"
}

@test "a death in the middle of an imported plan of each collective, over shm and tcp" {
    while read -r size collective file; do
        lockstep "$size" "$collective" "$file" shm
        grep -o '"digest":"[0-9a-f]*"' status.json | sort -u >shm
        lockstep "$size" "$collective" "$file" tcp
        grep -o '"digest":"[0-9a-f]*"' status.json | sort -u >tcp
        [ "$(wc -l <shm)" -eq 1 ]
        cmp shm tcp
    done <<LIST
4 allreduce allpairs.xml
8 allgather allgather-instances.xml
4 reduce_scatter reduce-scatter-scratch.xml
8 alltoall alltoall-two-step.xml
LIST
}

@test "kill and restart: the plan in use is reported, and the events replay in ringtop" {
    ringctl up 4 ops --name pairs --pace 1ms --bytes 4K \
        --collective allreduce --algo "$FORMATS/allpairs.xml" 2>/dev/null
    ringctl record
    ringctl wait 'step>=2'
    run -0 ringctl status
    [[ $output = *"plan: allpairs"* ]]
    ringctl kill 2
    ringctl wait 'epoch==2 && alive==3'
    run -0 ringctl status
    [[ $output = *"plan: built-in; --algo has none for 3 members"* ]]
    run -0 "$BUILD/ringtop" --run pairs --batch -n 2 --page chunks
    [[ $output = *"3 alive"* ]]
    [[ $output = *"allreduce "*"epoch 2"* ]]
    ringctl restart 2
    ringctl wait 'epoch==3 && alive==4'
    ringctl expect 'lost==0 && doubled==0 && wrong==0'
    ringctl record off
    run -0 ringctl events
    [[ $output = *"epoch 2: 3 members, built-in plan"* ]]
    [[ $output = *"epoch 3: 4 members, given plan, 16 chunks"* ]]
    # The op that confirms a collective is not shown: a node begins an op once
    # in an epoch.
    sed -n 's/.*"kind":"op_begin",\(.*\),"bytes".*/\1/p' runs/pairs/events.jsonl |
        sort >begun
    [ -s begun ]
    [ -z "$(uniq -d begun)" ]
    run -0 "$BUILD/ringtop" --from runs/pairs/events.jsonl -o json
    [[ $output = *'"ops_failed":0,"ops_doubled":0'* ]]
    run -0 "$BUILD/ringtop" --from runs/pairs/events.jsonl --batch --epoch 3 --page chunks
    # The collective, or the all-reduce of the hashes of its results.
    [[ $output =~ allreduce\ (4K|16)\ \ op ]]
}

@test "collectives without --algo: the root dies, and the next one is the root" {
    for collective in broadcast scan alltoall; do
        ringctl --timeout 100s -c "up 3 ops --collective $collective --count 40 \
            --bytes 24 --lockstep 'at op 2 crash 0; at op 9 restart 0'; \
            wait done && step==40; expect wrong==0 && lost==0; status -o json" |
            grep '"schema":"ringctl status"' >status.json
        facts alive 3 step 40 wrong 0
    done
}

@test "what cannot run is refused with the value and the rule" {
    while IFS='|' read -r arguments reason; do
        # shellcheck disable=SC2086
        run --separate-stderr ringctl up $arguments
        [ "$status" -ne 0 ]
        [[ $stderr = *"$reason"* ]] || {
            printf '%s\n' "$stderr"
            false
        }
    done <<LIST
2 ops --collective allgather --algo $FORMATS/pair.xml|pair.xml is a plan for allreduce, not for allgather
2 ops --algo $FORMATS/reduce-scatter.xml|reduce-scatter.xml is a plan for reduce_scatter, not for allreduce
3 ops --collective allgather --algo $FORMATS/channels.xml|the plan is for 2 ranks, not for 3; start 2 members
2 ops --collective allgather --algo swing|allgather: unknown algorithm "swing"
2 ops --collective custom|--collective
2 ops --collective nonsense|--collective
2 ops --collective alltoall --bytes 1G|with 2 members at first, the size of alltoall must be at most 33554432 bytes, not 1073741824
2 --collective allgather exec true|--collective is only for ops; a program calls its collectives itself
2 --servers 1 --collective allgather|--collective is only for rings, not for servers
2 ops --collective allgather --algo $FORMATS/cycle.xml|cycle.xml:5: gpu 0, tb 0, step 1: the steps wait for each other in a cycle
LIST
    run --separate-stderr ringctl sim ring -n 2 --algo "$FORMATS/pair.xml"
    [ "$status" -ne 0 ]
    [[ $stderr = *"plan pair uses scratch"*"sim ring needs their recovery"* ]]
}

@test "training needs all-reduces whose chunks can be recovered" {
    printf '1 1:1\n-1 1:-1\n' >rows
    run --separate-stderr ringctl up 2 --algo "$FORMATS/pair.xml" train lr rows
    [ "$status" -ne 0 ]
    [[ $stderr = *"plan pair uses scratch; chunks can be recovered only in plans without scratch, and train needs their recovery"* ]]
    run --separate-stderr ringctl up 2 --collective alltoall train lr rows
    [ "$status" -ne 0 ]
    [[ $stderr = *"train needs all-reduces, but --collective is alltoall"* ]]
    ringctl up 2 --name later --collective alltoall 2>/dev/null
    run --separate-stderr ringctl train lr rows
    [ "$status" -ne 0 ]
    [[ $stderr = *"train needs all-reduces, but --collective is alltoall"* ]]
    ringctl train ops --count 3
    ringctl wait 'done && step==3'
    ringctl expect 'wrong==0'
}
