#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# ringctl sim servers: the parameter server in virtual time, its guarantees, and
# the losses when a rule is left out.
# shellcheck disable=SC2154 # run sets stderr

setup_file() {
    bats_require_minimum_version 1.5.0
    R=$(realpath "${B:-build}")/ringctl
    export R
}

# Checks a field in the output of the last command.
says() {
    [[ $output == *"\"$1\":$2,"* ]] || {
        echo "no \"$1\":$2 in $output"
        return 1
    }
}

sim() {
    run "-$1" --separate-stderr "$R" sim servers "${@:2}" -v -o jsonl
}

# No copy of its entries is under way when it dies.
late='at 300ms cut s0>s1,s2 for 60ms; at 340ms crash s0'
# It is cut off together with a worker that has the old routes.
island='at 300ms cut c0,c1,c2|s0,w0 for 1500ms; at 300ms cut s1,s2|s0 for 1500ms'

@test "sim servers: without faults nothing is lost, and copies are R-1 times the pushes" {
    for replicas in 1 2 3; do
        sim 0 --faults none --replicas "$replicas"
        says pushes_lost 0
        says refused 0
        says violation null
        [[ $output =~ \"push_bytes\":([0-9]+),\"replica_bytes\":([0-9]+) ]]
        ((BASH_REMATCH[1] > 1000))
        ((BASH_REMATCH[2] == (replicas - 1) * BASH_REMATCH[1]))
    done
}

# The document without its date, its command and its seed.
results() {
    sed -E 's/,"provenance":\{[^}]*\}//; s/"seed":[0-9]+,//' <<<"$output"
}

@test "sim servers: the same options give the same numbers, another seed gives others" {
    local first
    sim 0 --seed 7
    first=$(results)
    sim 0 --seed 7
    [ "$(results)" = "$first" ]
    sim 0 --seed 8
    [ "$(results)" != "$first" ]
}

@test "sim servers: no schedule loses a push that all replicas acknowledged" {
    sim 0 --seeds 1..150
    says pushes_lost 0
    says pushes_doubled 0
    says stale 0
    says two_primaries 0
}

@test "sim servers: slots without a replica left are lost, and reported" {
    sim 0 --replicas 2 --faults 'at 500ms crash s0,s1'
    [[ $output =~ \"slots_lost\":[23], ]]
    [[ $output =~ \"pushes_lost\":[1-9] ]]
    sim 0 --seed 2113 # here a slot is lost while it is being read in the end
    says slots_lost 2
}

@test "sim servers: a push acknowledged by the primary alone can be lost" {
    sim 0 --faults "$late"
    says pushes_lost 0
    says failover_ms 2.1
    sim 1 --faults "$late" --ack primary
    [[ $output =~ \"pushes_lost\":[1-9] ]]
    [[ $output == *'is not seen by a pull'* || $output == *'is lost'* ]]
}

@test "sim servers: a server that only the controllers have lost is replaced" {
    for seed in 1 2 3; do
        sim 0 --seed $seed --for 10s --faults 'at 700ms cut s1|c0,c1,c2'
        says pushes_lost 0
        says two_primaries 0
        says violation null
        [[ $output =~ \"takeovers\":([0-9]+) ]]
        ((BASH_REMATCH[1] > 0))
    done
}

# Only the controllers are cut off: a worker that reaches no replica of a slot
# leaves the decision to them.
@test "sim servers: controllers that have lost all servers declare none dead" {
    for lost in s0,s1,s2 s0,s1,s2,w0,w1; do
        sim 0 --for 10s --faults "at 700ms cut $lost|c0,c1,c2 for 6s"
        says pushes_lost 0
        says slots_lost 0
        says takeovers 0
        says violation null
    done
}

@test "sim servers: over seeds, and with the few faults that matter" {
    faults=$BATS_TEST_TMPDIR/faults
    sim 1 --ack primary --seeds 1..200 --shrink --schedule "$faults"
    [[ $output =~ \"seed\":([0-9]+) ]]
    seed=${BASH_REMATCH[1]}
    [ "$(wc -l <"$faults")" -le 3 ]
    grep -E '(crash|cut|pause|drop|delay) [swc][0-9]' "$faults"
    sim 0 --seed "$seed"
    sim 1 --ack primary --seeds 1..200 --keep-going
    says seed 200
    [[ $output =~ \"violations\":([0-9]+) ]]
    ((BASH_REMATCH[1] > 1))
}

@test "sim servers: a leader that dies with a server costs an election" {
    sim 0 --faults 'at 300ms crash c0 for 500ms; at 300ms crash s1'
    says leaders 2
    [[ $output =~ \"failover_ms\":([0-9]+) ]]
    ((BASH_REMATCH[1] >= 20))
}

@test "sim servers: without a report, a server is declared dead by silence" {
    sim 0 --silent --faults 'at 300ms crash s0'
    says takeovers 3
    [[ $output =~ \"detect_ms\":([0-9]+) ]]
    ((BASH_REMATCH[1] >= 250))
}

@test "sim servers: copies that overtake each other are put in order" {
    sim 0 --faults 'delay s0>s1,s2 1ms..20ms; at 600ms crash s0'
    ordered=$output
    sim 0 --faults 'delay s0>s1,s2 1ms..20ms; at 600ms crash s0' --unordered
    [ "$output" != "$ordered" ]
    says pushes_lost 0
}

@test "sim servers: without a lease two primaries serve at once, and a pull is stale" {
    sim 0 --faults "$island"
    says two_primaries 0
    sim 1 --faults "$island" --without lease
    says two_primaries 3
    says pushes_lost 0
    [[ $output =~ \"stale\":[1-9] ]]
    [[ $output =~ two\ primaries\ at\ [0-9.]+\ ms:\ s0\ and\ s1 ]]
}

@test "sim servers: without fencing the replicas of a slot differ" {
    sim 1 --faults "$island" --ack primary --without fencing
    [[ $output == *'replicas of slot '*' differ'* ]]
}

@test "sim servers: without dedupe a push counts twice" {
    sim 0 --faults 'dup *|* 0.2'
    sim 1 --faults 'dup *|* 0.2' --without dedupe
    [[ $output =~ \"pushes_doubled\":[1-9] ]]
    [[ $output == *'counts 2 times'* ]]
}

@test "sim servers: its events are those of a run, and ringtop plays them" {
    events=$BATS_TEST_TMPDIR/e.jsonl
    sim 0 --faults 'at 300ms crash s0 for 200ms' --events "$events"
    grep -q '"kind":"failure".*"peer":32' "$events"
    grep -q '"kind":"slot"' "$events"
    run -0 "$(dirname "$R")/ringtop" --from "$events" --batch
    [[ $output == *'all served'* && $output == *'server 0 is declared dead'* ]]
}

@test "sim servers: invalid options are refused, with the place" {
    sim 64 --servers 129
    run -64 --separate-stderr "$R" sim ring --servers 2
    [[ $stderr == *'a ring has no servers'* ]]
    sim 64 --replicas 4
    sim 64 --controllers 2
    sim 64 --without lease,gravity
    [[ $stderr == *'gravity'*'dedupe, lease, fencing'* ]]
    sim 65 --faults 'at 3ms crash s7'
    [[ $stderr == *"--faults:1:14: expected a node's number, found"* ]]
}

# uneven HOW SEED: the final ratio of the largest load to the mean.
uneven() {
    sim 0 --placement "$1" --faults none --replicas 1 --for 6s --seed "$2"
    says pushes_lost 0
    [[ $output =~ \"plans\":([0-9]+),\"uneven\":([0-9.]+) ]]
    plans=${BASH_REMATCH[1]} uneven=${BASH_REMATCH[2]}
}

@test "sim servers: by load slots leave the hot server, once or twice, and stay" {
    for seed in 1 2 3; do
        uneven count "$seed"
        [ "$plans" -eq 0 ]
        awk -v u="$uneven" 'BEGIN { exit !(u > 1.4) }'
        uneven load "$seed"
        ((plans == 1 || plans == 2))
        awk -v u="$uneven" 'BEGIN { exit !(u < 1.2) }'
    done
}

@test "sim servers: slots that move by load among faults lose no push" {
    sim 0 --placement load --for 3s --seeds 1..30
    says pushes_lost 0
    says pushes_doubled 0
    says violation null
    [[ $output =~ \"plans\":[1-9] ]]
    run -64 --separate-stderr "$R" sim ring --placement load
}

@test "sim servers: 64 servers and 128 workers lose no push" {
    sim 0 --servers 64 -n 128 --seeds 1..1
    says pushes_lost 0
    says pushes_doubled 0
    says violation null
    sim 1 --servers 16 -n 32 --without dedupe --seeds 1..1
    [[ $output =~ 'counts 2 times' ]]
    run -64 --separate-stderr "$R" sim servers --servers 128 -n 193
    [[ $stderr = *"at most 192 workers and 128 servers are possible, not 193 and 128;"* ]]
}
