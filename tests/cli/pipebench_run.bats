#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# pipebench run: real processes, one per stage. Tests its output, recordings and
# drawings, a network that learns the same by every schedule, and stages that
# are killed or stopped, with and without --elastic.
# shellcheck disable=SC2154 # run sets stderr

setup_file() {
    bats_require_minimum_version 1.5.0
    PIPEBENCH=$(realpath "${B:-build}")/pipebench
    export PIPEBENCH
    export LABS=$PWD/labs
    # shellcheck disable=SC2046
    ${CC:-cc} -o "$BATS_FILE_TMPDIR/jsoncheck" tests/cli/jsoncheck.c \
        $(pkg-config --cflags --libs jansson)
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    export LC_ALL=C GRADWIRE_RUNS=$BATS_TEST_TMPDIR/runs
}

bench() {
    "$PIPEBENCH" run "$@"
}

# Short steps; their time is not checked.
quick() {
    bench --work sleep:300us --steps 2 "$@"
}

json() {
    "$BATS_FILE_TMPDIR/jsoncheck" "$@"
}

# $1 is true of the numbers.
holds() {
    awk "BEGIN { exit !($1) }"
}

# Considers only this test's processes, since others may run.
nobody_left() {
    local pid
    for pid in $(pgrep -f "$PIPEBENCH run"); do
        ! grep -qs "$GRADWIRE_RUNS" "/proc/$pid/environ" || return 1
    done
}

# 120 rows of 6 features; the largest of three sums is the class.
rows() {
    awk 'BEGIN {
        state = 11
        for (row = 0; row < 120; row++) {
            line = ""; best = -9
            for (j = 0; j < 6; j++) {
                state = (state * 16807) % 2147483647
                x[j] = state / 2147483647 * 2 - 1
                line = line sprintf(" %d:%.4f", j + 1, x[j])
            }
            for (c = 0; c < 3; c++)
                if (x[c] + x[c + 3] / 2 > best) {
                    best = x[c] + x[c + 3] / 2
                    label = c
                }
            print label line
        }
    }' >rows
    printf 'network small\ninput 6\ndense 8\nrelu\ndense 6\ntanh\ndense 3\nsoftmax\n' \
        >small.net
}

train() {
    bench --net small.net --data rows -n 2 -m 4 --batch 24 --steps 30 \
        -o json "$@"
}

# ---- output ----

@test "one row for the whole and one per stage, with measured and predicted times" {
    quick --schedule 1f1b --stages 3 --micro 6 -o json >out
    [ "$(json rows '#' <out)" -eq 4 ]
    for field in time_us ideal_us bubble_predicted bubble_measured \
        peak_activations; do
        for row in 0 1 2 3; do
            holds "$(json rows $row $field <out) > 0"
        done
    done
    for row in 1 2 3; do # 3, 2 and 1
        [ "$(json rows $row peak_activations <out)" -eq $((4 - row)) ]
    done
    # (p - 1) / (m + p - 1)
    holds "($(json rows 0 bubble_predicted <out) - 0.25) ^ 2 < 1e-12"
    [ "$(json steps <out)" -eq 2 ]
    # The requested work was done: 6 times F, I and W.
    holds "$(json rows 0 ideal_us <out) > 6 * 890"
    [ "$(json rows 1 waits_for <out)" = 1 ]
    nobody_left
}

@test "every schedule runs over every wire" {
    for wire in shm ipc tcp; do
        for schedule in gpipe 1f1b interleaved zb-h1; do
            quick -s $schedule -n 2 -m 4 -w $wire -b 100K --steps 1 -o json |
                json rows 2 peak_activations
        done
    done
    [ "$(quick -n 1 -m 3 -o json | json rows '#')" -eq 2 ]
}

@test "a schedule from a file" {
    run -0 quick "$LABS/plans/1f1b-3.pipe"
    [[ $output = *"# stages: 3"* ]]
    run quick "$LABS/plans/wrong-deadlock.pipe"
    [ "$status" -ne 0 ]
    [[ $output = *wrong-deadlock.pipe* ]]
}

@test "waits_for names the slow stage" {
    bench --work sleep:1ms --steps 2 -n 3 -m 6 --slow 1:10 -o json >out
    [ "$(json rows 1 waits_for <out)" = 1 ]
    [ "$(json rows 3 waits_for <out)" = 1 ]
    holds "$(json rows 2 ideal_us <out) > 3 * $(json rows 1 ideal_us <out)"
}

@test "spinning work" {
    bench --work spin:100us,200us -n 2 -m 2 --steps 1 -o json >out
    holds "$(json rows 1 ideal_us <out) > 590"
}

@test "the trace has two lanes per stage, the events have all passes" {
    quick -n 2 -m 2 --trace t.json --events e.jsonl -o json >out
    json <t.json >/dev/null
    for stage in 0 1; do
        for lane in predicted measured; do
            grep -q "\"stage $stage $lane\"" t.json
        done
    done
    # 3 steps including the warm-up, 2 stages, F and B, 2 micro-batches
    [ "$(grep -c '"cat":"measured"' t.json)" -eq 24 ]
    [ "$(grep -c '"cat":"predicted"' t.json)" -eq 24 ]
    [ "$(grep -c '"pass_end"' e.jsonl)" -eq 24 ]
    [ "$(grep -c '"stage"' e.jsonl)" -eq 2 ]
    json -l time_ns <e.jsonl
}

@test "--watch draws each step" {
    run -0 quick -n 3 -m 3 --watch
    [[ $output = *"step 2 of 2: "*"stage 2 "* ]]
    run -0 --separate-stderr quick -n 3 -m 3 --watch -o json
    json <<<"$output" >/dev/null
    [[ $stderr = *"step 2 of 2: "* ]]
}

# ---- real networks ----

@test "every schedule learns the same, and --test is evaluated" {
    rows
    train >first
    holds "$(json loss_last <first) < $(json loss_first <first) / 2"
    for how in "-s gpipe" "-s zb-h1" "-s interleaved --chunks 2" "-n 3"; do
        # shellcheck disable=SC2086
        train $how >other
        holds "($(json loss_last <other) / $(json loss_last <first) - 1) ^ 2 \
            < 1e-10"
    done
    train --test rows --optimiser adam --lr 0.01 --steps 60 >judged
    holds "$(json test_accuracy <judged) > 0.7"
}

@test "--until ends after the pass that meets it, also when a stage is replaced" {
    rows
    train --steps 200 --until 'loss<0.8' >until
    [ "$(json ended <until)" = until ]
    steps=$(json steps <until)
    [ "$steps" -lt 200 ]
    [ $((steps % 5)) -eq 0 ]
    train --steps 200 --until 'loss<0.8' --elastic --fail 1@7:kill >again
    [ "$(json recoveries <again)" -eq 1 ]
    [ "$(json loss_last <again)" = "$(json loss_last <until)" ]
    train --steps 5 >few
    [ "$(json ended <few)" = steps ]
}

# ---- lost stages ----

@test "a stage that is killed ends the run and is named" {
    run -1 --separate-stderr quick --fail 2@1:kill --trace t.json -o json
    [[ $stderr = *"stage 2 (pid "*") was killed by signal 9"* ]]
    [[ $stderr = *"step 1, "* ]]
    [ "$(json code <<<"$output")" = GW_ELOST ]
    json <t.json >/dev/null
    grep -q '"cat":"measured"' t.json
    nobody_left
}

@test "a stage that is stopped ends the run and is named" {
    run -1 --separate-stderr quick --fail 1@1:stop
    [[ $stderr = *"stage 1 (pid "*") did not respond"* ]]
    nobody_left
}

@test "--elastic continues from the last finished step" {
    quick --fail 2@1:kill,0@2:kill --elastic -o json >out
    [ "$(json recoveries <out)" -eq 2 ]
    [ "$(json steps <out)" -eq 2 ]
    [[ $(json recovery_1 <out) = *"stage 2 (pid "*"killed"*"in step 1"*"last completed step is 0"* ]]
    [[ $(json recovery_2 <out) = *"stage 0 (pid "*"in step 2"*"last completed step is 1"* ]]
    [ "$(json passes_redone <out)" -gt 0 ]
    [ "$(json rows '#' <out)" -eq 5 ]
}

@test "--elastic before any step was finished, and too often" {
    run -0 quick --fail 0@0:kill --elastic
    [[ $output = *"no step was completed"* ]]
    run -1 quick --fail 0@0:kill,1@1:kill --elastic --restarts 1
    [[ $output = *"gave up after 1 restart: stage 1"* ]]
}

@test "--elastic: the learnt weights are the same, bit by bit" {
    rows
    for how in "-s 1f1b" "-s zb-h1 --optimiser adam --lr 0.01"; do
        # shellcheck disable=SC2086
        train $how >calm
        # shellcheck disable=SC2086
        train $how --elastic --fail 1@7:kill,0@19:kill >rough
        [ "$(json recoveries <rough)" -eq 2 ]
        for value in losses loss_first loss_last train_loss train_accuracy; do
            [ "$(json $value <rough)" = "$(json $value <calm)" ]
        done
    done
}

# ---- ends ----

# interrupted_after SECONDS: Ctrl-C so long after the stages were started.
interrupted_after() {
    # A shell makes background commands ignore SIGINT; env resets that.
    env --default-signal=INT "$PIPEBENCH" run --work sleep:20ms --steps 500 \
        --events e.jsonl -o json >out 2>err 3>&- &
    local pid=$!
    until [ "$(pgrep -c -P "$pid")" -ge 4 ]; do
        sleep 0.05
    done
    sleep "$1"
    kill -INT "$pid"
    local ended=0
    wait "$pid" || ended=$?
    [ "$ended" -eq 130 ]
    [ "$(json partial <out)" = true ]
    nobody_left
}

# On a busy machine the stages may not have begun: then there are no events.
@test "Ctrl-C leaves a complete document and no process" {
    for pause in 0.2 1 5; do
        interrupted_after "$pause"
        [ ! -s e.jsonl ] || break
    done
    json -l time_ns <e.jsonl
}

@test "invalid options are named" {
    while read -r words; do
        # shellcheck disable=SC2086
        run -64 bench $words
        option=${words%% *}
        [[ $output = *"$option"* ]] || { echo "$words: $output"; return 1; }
    done <<'END'
--work walk:5ms
--work sleep:1ms,2ms,3ms,4ms
--slow 9:2
--slow 18446744073709551616:2
--fail 4294967296@0:kill
--fail 0@4294967296:kill
--fail 9@0:kill
--fail 0@99:kill
--fail 0@1:tickle
--restarts 1000
--data rows
--epochs 3
--net small.net
--net small.net --work sleep:1ms
--net small.net --data rows --stages 1
END
    run -64 bench --schedule 1f2b
    [[ $output = *1f1b* ]]
    run bench --trace /nowhere/t.json
    [ "$status" -ne 0 ]
    [[ $output = *"--trace /nowhere/t.json"* ]]
    rows
    run bench --net small.net --data rows --batch 121 -m 1 -n 2
    [ "$status" -eq 64 ]
    [[ $output = *"--batch 121"* ]]
}
