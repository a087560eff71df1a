#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# collrun tune: its output, its rules, the calls that use them, and that only a
# finished run changes the file. The coefficients of the tests make the
# prediction wrong by far, so that the resulting rule does not depend on the
# speed of the machine.

setup_file() {
    bats_require_minimum_version 1.5.0
    COLLRUN=$(realpath "${COLLRUN:-build/collrun}")
    export COLLRUN
    # shellcheck disable=SC2046
    ${CC:-cc} -o "$BATS_FILE_TMPDIR/jsoncheck" tests/cli/jsoncheck.c \
        $(pkg-config --cflags --libs jansson)
}

# Messages cost nothing and bytes are expensive: the prediction for a broadcast
# of a few bytes is a plan of many steps, while one of a single step is many
# times as fast.
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    export GRADWIRE_CALIBRATION=$BATS_TEST_TMPDIR/costs.json
    echo '{"wires":{"ipc":{"alpha_us":0,"beta_us_per_byte":1}}}' >costs.json
    cp costs.json before.json
}

json() {
    "$BATS_FILE_TMPDIR/jsoncheck" "$@"
}

# Over ipc, with one size, unless options change that.
tune() {
    "$COLLRUN" tune --wire ipc -n 4 -b 64 -e 64 --all --seconds 50ms "$@"
}

# tune_a_rule: on a busy machine the noise may exceed the gain of the rule, and
# then there is no rule.
tune_a_rule() {
    local try
    for try in 1 2 3 4 5 6 7 8; do
        cp before.json costs.json
        tune broadcast -o json >out.json
        [ "$(json tuning_rules <out.json)" != 1 ] || return 0
    done
    echo "$try times no rule"
    return 1
}

@test "a row has all fields, and the summary follows" {
    tune broadcast barrier --dry-run -o json >out.json
    [ "$(json rows '#' <out.json)" = 2 ]
    for field in op ranks bytes best best_us chosen chosen_us regret_percent \
        predicted_us predicted_measured tuning_rule algos runs; do
        json rows 0 "$field" <out.json >/dev/null
    done
    for field in cases regret_worst_percent regret_median_percent \
        tuned_worst_percent tuned_median_percent noise_median_percent \
        error_median_percent error_p95_percent tuning_rules stored; do
        json "$field" <out.json >/dev/null
    done
    [ "$(json wire <out.json)" = ipc ]
    [ "$(json cases <out.json)" = 2 ]
    [ "$(json stored <out.json)" = no ]
    cmp costs.json before.json
}

@test "the same in the other formats" {
    tune broadcast --dry-run -o jsonl >out.jsonl
    json -l cases <out.jsonl
    grep -q '"op":"broadcast","ranks":4,"bytes":64,' out.jsonl
    tune broadcast --dry-run -o csv >out.csv
    [ "$(wc -l <out.csv)" -eq 2 ]
    head -1 out.csv | grep -q 'op,ranks,bytes,best,best_us,chosen'
    tune broadcast --dry-run >out.txt
    grep -q 'regret %' out.txt
    grep -q '^# regret_worst_percent: ' out.txt
    grep -q '^# error_p95_percent: ' out.txt
}

@test "each number of ranks, each size, and all collectives" {
    tune allreduce -n 2,3 -b 8 -e 100 -f 4 --seconds 1ms --dry-run -o csv >out.csv
    [ "$(wc -l <out.csv)" -eq 7 ]
    [ "$(grep -Ec 'allreduce,3,(8|32|100),' out.csv)" -eq 3 ]
    tune -n 2 --wire shm --seconds 1ms --dry-run -o csv >out.csv
    [ "$(wc -l <out.csv)" -eq 12 ]
}

@test "rules are stored with their origin, and obeyed" {
    tune_a_rule
    [ "$(json stored <out.json)" = yes ]
    [ "$(json tuning_rules <out.json)" = 1 ]
    rule=$(json rows 0 tuning_rule <out.json)
    slow=$(json rows 0 chosen <out.json)
    [ "$rule" != "$slow" ]
    # the coefficients are still there
    [ "$(json wires ipc beta_us_per_byte <costs.json)" = 1 ]
    [ "$(json tuning_rules ipc broadcast 0 algo <costs.json)" = "$rule" ]
    [ "$(json tuning_rules ipc broadcast 0 instead <costs.json)" = "$slow" ]
    [ "$(json tuning_rules ipc broadcast 0 ranks <costs.json)" = 4 ]
    date=$(json tuning_rules ipc broadcast 0 tuning <costs.json)
    for field in cpu cores versions seed runs wire; do
        [ -n "$(json tunings "$date" "$field" <costs.json)" ]
    done
    # calls within its range use the rule
    "$COLLRUN" bench all -w ipc -n 4 -b 64 -e 64 -i 2 -o jsonl >bench.jsonl
    grep -q "\"op\":\"broadcast\",\"algo\":\"$rule\"" bench.jsonl
    "$COLLRUN" bench all -w ipc -n 4 -b 1K -e 1K -i 2 -o jsonl >bench.jsonl
    grep -q '"op":"broadcast"' bench.jsonl
    run ! grep -q "\"op\":\"broadcast\",\"algo\":\"$rule\"" bench.jsonl
    run -0 "$COLLRUN" price broadcast -w ipc -n 4 -b 64 --why
    [[ $output = *"uses $rule by tuning rule of ${date:0:10}: at 64 it took "*"for $slow"* ]]
    run -0 "$COLLRUN" price broadcast -w ipc -n 4 -b 1K --why
    [[ $output != *"by tuning rule"* ]]
    # measured again, it is the choice of a call
    tune broadcast --dry-run -o json >again.json
    [ "$(json rows 0 chosen <again.json)" = "$rule" ]
}

@test "an interrupted run keeps its measurements" {
    tune_a_rule
    # A shell makes background commands ignore SIGINT; env resets that.
    env --default-signal=INT "$COLLRUN" tune -n 2,4 -f 2 --seconds 1s --all \
        -o jsonl >cut.jsonl 2>said &
    pid=$!
    until [ -s cut.jsonl ]; do sleep 0.05; done
    kill -INT "$pid"
    wait "$pid" && status=0 || status=$?
    [ "$status" -eq 130 ]
    [ "$(json -l partial <cut.jsonl)" = true ]
    [ "$(json -l stored <cut.jsonl)" = yes ]
    # cases that were not measured are unchanged
    [ -n "$(json tuning_rules ipc broadcast 0 algo <costs.json)" ]
    [ "$(json wires ipc beta_us_per_byte <costs.json)" = 1 ]
    [ "$(ls)" = "$(printf '%s\n' before.json costs.json cut.jsonl out.json said)" ]
}

@test "one row per number of ranks, or per algorithm" {
    tune broadcast -n 2,4 --dry-run --by ranks -o json >out.json
    [ "$(json rows '#' <out.json)" = 2 ]
    for field in wire ranks cases regret_median_percent regret_worst_percent \
        regret_worst_at tuned_worst_percent noise_median_percent \
        error_median_percent error_p95_percent error_worst_at; do
        [ -n "$(json rows 1 "$field" <out.json)" ]
    done
    [ "$(json rows 1 ranks <out.json)" = 4 ]
    tune broadcast --dry-run --by algo -o csv >out.csv
    [ "$(grep -c '^broadcast,4,64,' out.csv)" -eq \
        "$("$COLLRUN" list broadcast -o csv | sed 1d | wc -l)" ]
    tune broadcast --dry-run >out.txt
    grep -q '^# among_4: regret .* prediction error ' out.txt
    run -64 tune broadcast --by moon
}

@test "prices found meanwhile are stored and judged" {
    tune broadcast barrier -n 2 --seconds 1ms --dry-run -o json >out.json
    [ "$(json rows '#' <out.json)" = 2 ]
    [ "$(json stored <out.json)" = no ]
    cmp costs.json before.json
    [ -n "${SLOW-}" ] || skip "a calibration takes 10 s; SLOW=1 has it"
    tune broadcast -n 2 --seconds 1ms --calibrate -o json >out.json
    [ "$(json stored <out.json)" = yes ]
    # By the file a broadcast of a few bytes takes 64 us, a microsecond for
    # each.
    [ "$(json rows 0 predicted_us <out.json)" != 64 ]
    [ -n "$(json wires ipc ranks 2 post_us <costs.json)" ]
    [ "$(json wires ipc beta_us_per_byte <costs.json)" != 1 ]
}

@test "--algo: listed algorithms and plan files are measured; no rule names a file" {
    printf 'broadcast ranks=P chunks=1\nstep for i in 1..P-1: 0>i c0 =\n' >mine.plan
    tune broadcast --algo mine.plan,chain --by algo -o json >out.json
    grep -q '"algo":"mine.plan"' out.json
    grep -q '"algo":"chain"' out.json
    run ! grep -q '"mine' costs.json
    run -64 tune broadcast --algo rign
    sed 's/chunks/root=1 chunks/; s/0>i/1>(i+1)%P/' mine.plan >one.plan
    run -64 tune broadcast --algo one.plan --dry-run
    [[ $output = *"root"* ]]
}

@test "--from: the collectives, sizes and ranks of a program are measured" {
    "$COLLRUN" run allreduce -n 3 -b 96 --events one.jsonl >run.txt
    "$COLLRUN" run broadcast -n 3 -b 12K --events two.jsonl >run.txt
    cat one.jsonl two.jsonl >all.jsonl
    "$COLLRUN" tune --from all.jsonl --wire ipc --seconds 1ms --dry-run -o json >out.json
    [ "$(json rows '#' <out.json)" = 2 ]
    [ "$(json rows 0 op <out.json)" = broadcast ]
    [ "$(json rows 0 bytes <out.json)" = 12288 ]
    [ "$(json rows 0 ranks <out.json)" = 3 ]
    [ "$(json rows 1 op <out.json)" = allreduce ]
    [ "$(json rows 1 bytes <out.json)" = 96 ]
    run -64 "$COLLRUN" tune alltoall --from all.jsonl
    [[ $output = *"all.jsonl"* ]]
    echo '{}' >bad.jsonl
    run -65 "$COLLRUN" tune --from bad.jsonl
    [[ $output = *"bad.jsonl:1"* ]]
}

@test "a file that cannot be written is an error" {
    GRADWIRE_CALIBRATION=/dev/null/costs.json run ! tune broadcast -o json
    [[ $output = *"/dev/null"* ]]
    [[ $output = *'"stored":"no"'* ]]
}

@test "wrong options are refused with status 64" {
    run -64 tune allreduse
    [[ $output = *"did you mean \"allreduce\""* ]]
    run -64 tune ring.plan
    for ranks in 1 0 '2,' ',2' 2x '2,,4' -3 9999 ''; do
        run -64 tune broadcast --ranks="$ranks"
        [[ $output = *--ranks* ]]
    done
    run -64 tune -b 2K -e 1K
    run -64 tune -f 1
    run -64 tune --wire pigeon
}
