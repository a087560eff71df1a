#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# ringtop attached to a pipeline of real processes: the Gantt chart of the
# running step grows, at every size, the run is not disturbed, and its end is
# shown. The same from a recording of a run and of a simulation.

setup_file() {
    bats_require_minimum_version 1.5.0
    COLLRUN=$(realpath "${COLLRUN:-build/collrun}")
    for tool in ringtop ringctl pipebench; do
        declare -gx "${tool^^}=$(realpath "$(dirname "$COLLRUN")/$tool")"
    done
    export LC_ALL=C.UTF-8
}

setup() {
    load terminal
    cd "$BATS_TEST_TMPDIR" || return 1
    export GRADWIRE_RUNS=$BATS_TEST_TMPDIR/runs
    pid=
}

teardown() {
    close_terminal
    [ -z "$pid" ] || kill "$pid" 2>/dev/null || true
}

# pipeline STEPS: four stages, called tv.
pipeline() {
    "$PIPEBENCH" run --name tv -n 4 -m 8 --work sleep:5ms --steps "$1" \
        >out 2>err 3>&- 4>&- &
    pid=$!
    until_true test -e runs/tv/endpoint
}

ctl() {
    "$RINGCTL" --run tv "$@"
}

# growing PICTURES: of the same step, with more passes done in each.
growing() {
    awk '/ step [0-9]+  passes [0-9]+/ {
        match($0, /step [0-9]+/)
        step = substr($0, RSTART, RLENGTH)
        match($0, /passes [0-9]+/)
        passes = substr($0, RSTART + 7, RLENGTH - 7) + 0
        grown += step == last && passes > before
        last = step
        before = passes
    } END { exit !grown }' "$1"
}

@test "the chart of a live run grows at every size, without control keys" {
    pipeline 2000
    on_terminal "'$RINGTOP' --run tv"
    until_true shows '\[LIVE\]'
    until_true shows '^ ringtop  pipeline 4x8  step [0-9]'
    until_true shows '^ s0 F0.*B0'
    until_true shows '^ s3 ··.*F0.*B0'
    until_true shows '^ last step [0-9.]* m*s (predicted [0-9.]* ms), bubble [0-9]'
    until_true shows 'a pipeline of 4 stages, 8'
    until_true shows 'steps [0-9]* to [0-9]*: [0-9.]* m*s each'

    press Tab
    until_true shows 'mostly for'
    until_true shows '^     3    3 '
    until_true shows '^── step [0-9]*: [0-9.]* m*s, predicted'
    resize 40 10
    until_true shows '^ pipeline 4x8  step [0-9]'
    [ "$(screen | wc -l)" -eq 10 ]
    resize 80 24
    until_true shows '^ ringtop  pipeline 4x8'

    press k
    until_true shows 'read-only: no kill, pause or add'
    run -64 --separate-stderr ctl kill 1
    # shellcheck disable=SC2154 # set by run --separate-stderr
    [ "$stderr" = "ringctl: run tv is read-only here: it belongs to pipebench run" ]
    [[ $(ctl status) = *"# state: running, pipebench run, pid $pid"* ]]
    [[ $(ctl status) = *"4 stages, 8 micro-batches, predicted step time "* ]]
    [ "$(ctl down --all)" = "down: no run was up" ]

    kill -INT "$pid"
    until_true shows '\[END\]$'
    press q
    terminal_is_restored status=0
    wait "$pid" || [ $? -eq 130 ]
    pid=
    [[ $(ctl status) = *"# state: ended, pipebench run"* ]]
}

pictures_grow() {
    "$RINGTOP" --run tv --batch -n 30 --every 25ms --ascii >pictures
    growing pictures && grep -q 'waits for s[0-3]' pictures
}

@test "pictures of a live run as text: more passes from one to the next" {
    pipeline 2000
    until_true pictures_grow || { cat pictures; false; }
    "$RINGTOP" --run tv --leave --batch --every 100ms >end 3>&- &
    looker=$!
    until_true test -s end
    kill -KILL "$pid" # nobody says goodbye
    wait "$looker"
    grep -q '\[END\]$' end
    wait "$pid" || true
    pid=
    [[ $(ctl status) = *"# state: died, pipebench run"*"# error: pipebench run ended without a message"* ]]
}

@test "recordings of a run and of a simulation show the same page" {
    "$PIPEBENCH" run -n 3 -m 4 --work sleep:20ms --steps 2 --events run.jsonl >/dev/null
    "$PIPEBENCH" sim -n 3 -m 4 --events sim.jsonl >/dev/null
    for file in run.jsonl sim.jsonl; do
        "$RINGTOP" --from "$file" --page pipeline >last
        cat last
        grep -q '^ ringtop  pipeline 3x4  step .*\[END\]$' last
        lanes=('s0 F' 's1 ·.*F' 's2 ·.*F.*B') # as wide as they really were
        if [ "$file" = sim.jsonl ]; then
            lanes=('s0 F0.*F2.*B0.*B3' 's1 ·.*F0.*B3' 's2 ··.*F0.*B0.*B3.*··')
        fi
        for lane in "${lanes[@]}"; do
            grep -q "^ $lane" last
        done
        grep -q '^     0    0 done  *8/8  *0/3 ' last
        "$RINGTOP" --from "$file" -n 20 >pictures
        growing pictures
        "$RINGTOP" --from "$file" -o json | grep -q '"bubble_measured":0\.'
    done
}
