#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# up --lockstep: faults at places in the work. The same schedule gives the same
# decisions and results, whatever the speed of the processes and the wire.

# shellcheck disable=SC2154 # run sets stderr
load elastic_ring

# What must repeat, of a status: counts, decisions with their chunks, digests.
facts() {
    grep '"schema":"ringctl status"' >status.json
    for key in epoch step op "done" alive lost doubled lockstep_faults \
        ops_forward ops_exclude chunks_kept chunks_redone chunks_fresh; do
        echo "$key $("$BATS_FILE_TMPDIR/jsoncheck" $key <status.json)"
    done
    grep -o '"nodes":\[[0-9]*\],"names"\|"fate":"[a-z]*","op":[0-9]*' status.json
    grep -o '"chunks_kept":[0-9]*,"chunks_redone":[0-9]*,"chunks_fresh":[0-9]*' status.json
    grep -o '"digest":"[0-9a-f]*"' status.json
}


@test "three runs with other speeds and another wire repeat every decision and result" {
    schedule='at op 3 chunk 1 transfer 2 crash 2; at op 6 restart 2; at op 9 transfer 14 pause 1'
    i=0
    for how in '' '--wire tcp' '--pace 1ms'; do
        i=$((i + 1))
        ringctl --seed 7 --timeout 100s -c "up 4 ops --count 12 --bytes 32K $how --lockstep '$schedule'; wait done && op>=12; status -o json" |
            facts >facts$i
    done
    cat facts1
    cmp facts1 facts2
    cmp facts1 facts3
    grep -qx 'lockstep_faults 3' facts1
    grep -qx '"nodes":\[2\],"names"' facts1
    grep -qx '"fate":"exclude","op":3' facts1
    grep -qx '"fate":"exclude","op":9' facts1
    grep -qx '"chunks_kept":2,"chunks_redone":2,"chunks_fresh":0' facts1
}

@test "the place decides: before the first transfer all is fresh, at the end nothing is lost" {
    ringctl --timeout 100s -c 'up 4 ops --count 5 --lockstep "at op 2 crash 3"; wait done && op>=5; status -o json' | facts >first
    grep -qx '"chunks_kept":0,"chunks_redone":0,"chunks_fresh":4' first
    grep -qx '"fate":"exclude","op":2' first
    ringctl --timeout 100s -c 'up 4 ops --count 5 --lockstep "at op 2 transfer 24 crash 3"; wait done && op>=5; status -o json' | facts >last
    grep -qx '"chunks_kept":4,"chunks_redone":0,"chunks_fresh":0' last
    grep -qx '"fate":"forward","op":2' last
}

@test "a training with a death and a return is repeated bit by bit by rerun" {
    awk 'BEGIN { for (i = 0; i < 90; i++) {
        x = i % 7 - 3 + 0.5; y = i % 5 - 2 + 0.25
        printf "%s 1:%g 2:%g\n", (x + y > 0 ? "+1" : "-1"), x, y } }' >rows
    ringctl --timeout 100s -c 'up 3 train lr rows --batch 4 --epochs 3 --name twice --lockstep "at op 4 transfer 5 crash 0; at op 8 restart 0"; wait done' >/dev/null
    ringctl export twice twice.tar >/dev/null
    run -0 --separate-stderr ringctl rerun twice.tar
    [[ $output = *"node 0: "*" in op 4: "*same* ]] || false
    awk '$1 == "digest" || $1 == "train_loss" || $1 == "epoch" { print $NF }' <<<"$output" >verdicts
    [ "$(sort -u verdicts)" = same ]
    [ "$(wc -l <verdicts)" -eq 3 ]
}

@test "a schedule that cannot repeat is refused, with the fault and the reason" {
    while IFS='|' read -r schedule reason; do
        run --separate-stderr ringctl up 3 ops --lockstep "$schedule"
        [ "$status" -ne 0 ]
        [[ $stderr = *"$reason"* ]] || {
            printf '%s\n' "$stderr"
            false
        }
    done <<'END'
at 3ms crash 2|lockstep needs a place
at op 3 cut 0>1|only crash, pause, restart and resume
at op 3 crash 1,2|only one node at a time
at op 3 crash 5|the ring has no such node
at op 3 crash 1 for 3ms|"for" and "after" are not possible
at op 3 crash 1; at op 5 chunk 1 restart 1|between two ops
at op 3 crash 1; at op 3 crash 2|must come after
at op 3 crash 1; at op 4 restart 1|the second op after a loss
at op 3 restart 1|this node is alive then
at op 3 crash 1; at op 5 crash 1|this node is dead then
at op 1 crash 0; at op 2 crash 1; at op 3 crash 2|the last member
at op x crash 1|--lockstep:1:7
END
    run -64 ringctl up 3 --lockstep none
    [[ $output = *"needs work from the start"* ]] || false
    run ringctl sim ring --faults 'at op 3 crash 2'
    [ "$status" -ne 0 ]
    [[ $output = *'"at op" is only possible in a run with up --lockstep'* ]] || false
}
