#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# pipebench as a person meets it: plan, sim, compare, sweep and fit, their
# formats, and their errors. run is in pipebench_run.bats, layout in
# pipebench_layout.bats.

setup_file() {
    bats_require_minimum_version 1.5.0
    PIPEBENCH=$(realpath "${B:-build}")/pipebench
    export PIPEBENCH
    export LABS=$PWD/labs/plans MAN=$PWD/man/pipebench.1
    # shellcheck disable=SC2046
    ${CC:-cc} -o "$BATS_FILE_TMPDIR/jsoncheck" tests/cli/jsoncheck.c \
        $(pkg-config --cflags --libs jansson)
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    export LC_ALL=C
}

pipebench() {
    "$PIPEBENCH" "$@"
}

# The value at a path of a JSON document: json KEY... < document
json() {
    "$BATS_FILE_TMPDIR/jsoncheck" "$@"
}

# about A B: they differ by no more than rounding.
about() {
    awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; exit !(d * d < 1e-12) }'
}

# ---- help ----

@test "without arguments: a help of about ten lines; every command has more" {
    run -0 pipebench
    [ "${#lines[@]}" -le 12 ]
    for command in plan sim compare sweep fit; do
        run -0 pipebench help "$command"
        [[ $output = *Examples:* ]]
    done
}

# The parts of the page about a command.
section_of() {
    sed -n "/^\.Ss $1\$/,/^\.S[sh] /p" "$MAN"
    case $1 in
    plan | sim | run) sed -n "/^\.Ss Which schedule\$/,/^\.S[sh] /p" "$MAN" ;;
    fit) sed -n "/^\.Ss sweep\$/,/^\.S[sh] /p" "$MAN" ;;
    esac
    case $1 in
    sim | compare) sed -n "/^\.Ss Times of passes\$/,/^\.S[sh] /p" "$MAN" ;;
    esac
}

# Reads a page. Is there an entry for --OPTION?
describes() {
    grep -Eq "^\.It .*Fl .-${1#--}( |\$)"
}

@test "every command and option of the table is in the man page" {
    pipebench completion words >listed
    [ "$(wc -l <listed)" -ge 50 ]
    missing=
    while read -r command option; do
        case $command,$option in
        --*) describes "$command" <"$MAN" ;;
        *,) grep -q "^\.Ss $command\$" "$MAN" ;;
        *) section_of "$command" | describes "$option" ;;
        esac || missing+=" $command $option;"
    done <listed
    echo "missing:$missing"
    [ -z "$missing" ]
}

@test "invalid arguments get a message with a remedy, and status 64" {
    run -64 pipebench plan --schedule 1f2b
    [[ $output = *'did you mean "1f1b"?'*zb-h1* ]]
    run -64 pipebench pln
    [[ $output = *'did you mean "plan"?'* ]]
    run -64 pipebench plan --stages 0
    [[ $output = *'stages must be from 1 to'* ]]
    run -64 pipebench plan --schedule gpipe --chunks 2
    [[ $output = *'a stage has one chunk'* ]]
    run -64 pipebench plan "$LABS/1f1b-3.pipe" --stages 3
    [[ $output = *'defines its own stages'* ]]
    run -64 pipebench sim --forward 1ms,2ms
    [[ $output = *'--forward has 2 times, but the pipeline has 4 stages'* ]]
    run -64 pipebench sim --slow 4:2
    [[ $output = *'the stage must be from 0 to 3'* ]]
    run -64 pipebench sim --backward 1ms --weight 1ms
    [[ $output = *'use either --backward or the other two'* ]]
    run -64 pipebench sweep --micro 3
    [[ $output = *'3 samples do not divide a batch of 256'* ]]
    run -64 pipebench fit --work sleep:2ms
    [[ $output = *'such as sleep:2ms+20us'* ]]
    run -64 pipebench sim --slow 18446744073709551617:2
    run -64 pipebench sim --slow -1:2
    run -64 pipebench fit --times 4294967304=1s,64=2s
    run -64 pipebench fit --times 8=1s,64=2s,128=3s
    run -64 pipebench fit --times 8=1s
    [[ $output = *'--times must be two'* ]]
}

@test "a schedule that blocks is refused, and its cycle is named" {
    for command in plan sim compare; do
        run -1 pipebench "$command" "$LABS/wrong-deadlock.pipe"
        [[ $output = *wrong-deadlock.pipe*cycle*"stage 0"*"stage 1"* ]]
    done
    echo 'schedule stages=1' >short.pipe
    run -65 pipebench plan short.pipe
    [[ $output = *short.pipe:1:* ]]
    run -65 pipebench plan nothing.pipe
    [[ $output = *nothing.pipe* ]]
}

# ---- plan ----

@test "plan draws lanes, and --text can be given back" {
    run -0 pipebench plan --schedule 1f1b --stages 2 --micro 2
    [ "${lines[2]}" = "stage 0 F0----F1----............B0##########......B1##########" ]
    [[ ${lines[3]} = "stage 1 ......F0----B0####"* ]]
    for schedule in gpipe 1f1b interleaved zb-h1; do
        pipebench plan -s "$schedule" -m 6 --text >own.pipe
        pipebench plan own.pipe --text >again.pipe
        cmp own.pipe again.pipe
        pipebench plan -s "$schedule" -m 6 -o csv | cut -d, -f1-7 >made
        pipebench plan own.pipe -o csv | cut -d, -f1-7 | cmp - made
    done
}

@test "the pages are valid XML, with every pass" {
    command -v xmllint >/dev/null || skip "xmllint is not installed"
    pipebench plan --svg plan.svg >/dev/null
    pipebench compare --svg all.svg >/dev/null
    xmllint --noout plan.svg all.svg
    [ "$(grep -c 'class="pass' plan.svg)" -eq 64 ]
    [ "$(grep -c 'of ideal' all.svg)" -eq 4 ]
}

# ---- sim and compare ----

@test "sim: the bubble by formula is the simulated one" {
    for schedule in gpipe 1f1b interleaved zb-h1; do
        pipebench sim -s "$schedule" -n 4 -m 12 -o json >sim.json
        about "$(json rows 0 bubble_predicted <sim.json)" \
            "$(json rows 0 bubble_simulated <sim.json)"
        [ "$(json rows 4 stage <sim.json)" = 3 ]
    done
    pipebench sim --micro 8 -o json >sim.json
    about "$(json rows 0 time_us <sim.json)" 33000
    about "$(json rows 0 bubble_of_ideal <sim.json)" 0.375
    [ "$(json rows 0 peak_activations <sim.json)" = 4 ]
}

@test "sim: waits_for names the slow stage" {
    pipebench sim --slow 2:2 --message 20us -o json >sim.json
    [ "$(json rows 0 waits_for <sim.json)" = 2 ]
    about "$(json rows 0 ideal_us <sim.json)" 48000
    [ "$(json rows 0 bubble_predicted <sim.json)" = null ]
}

@test "sim: a file with the order of a built-in schedule has its formula" {
    run -0 pipebench sim "$LABS/1f1b-3.pipe" -o json
    about "$(json rows 0 bubble_predicted <<<"$output")" \
        "$(json rows 0 bubble_simulated <<<"$output")"
}

@test "sim --events is a recording in order of time" {
    pipebench sim -m 4 --events events.jsonl >/dev/null
    [ "$(grep -c '"stage"' events.jsonl)" -eq 4 ]
    [ "$(grep -c '"pass_begin"' events.jsonl)" -eq 32 ]
    [ "$(grep -c '"pass_end"' events.jsonl)" -eq 32 ]
    sed 's/.*"time_ns":\([0-9]*\).*/\1/' events.jsonl | sort -nc
    grep -q '"pass_end".*"bytes":4,' events.jsonl
}

@test "compare: one table of all schedules, and of a file" {
    run -0 pipebench compare -o csv
    [ "${#lines[@]}" -eq 5 ]
    run -0 pipebench compare "$LABS/1f1b-3.pipe" -o json
    [ "$(json stages <<<"$output")" = 3 ]
    [ "$(json rows 4 schedule <<<"$output")" = "$LABS/1f1b-3.pipe" ]
    about "$(json rows 4 time_us <<<"$output")" \
        "$(json rows 1 time_us <<<"$output")"
    [ "$(json fastest <<<"$output")" = zb-h1 ]
    run -64 pipebench compare "$LABS/1f1b-3.pipe" --micro 8
    [[ $output = *'cannot be compared with'* ]]
}

@test "compare --run measures each, and the page has both" {
    run -0 pipebench compare -m 4 --run --steps 1 --svg both.svg -o json
    for row in 0 1 2 3; do
        simulated=$(json rows $row time_us <<<"$output")
        measured=$(json rows $row measured_us <<<"$output")
        awk -v a="$simulated" -v b="$measured" 'BEGIN { exit !(b >= a * 0.9) }'
    done
    [ "$(grep -c ' measured: ' both.svg)" -eq 4 ]
}

# ---- sweep and fit ----

@test "sweep: a U with its minimum at the value of the formula" {
    pipebench sweep --sim --batch 1024 --micro 1,2,4,8,16,32,64 -o json >u.json
    [ "$(json best_micro <u.json)" = 16 ]
    about "$(json rows 0 predicted_us <u.json)" "$(json rows 0 time_us <u.json)"
    run -0 pipebench sweep --sim --batch 1024 --micro 8,16,32
    [[ ${lines[7]} = *16*'# best' ]]
    run -0 pipebench sweep --batch 8 --micro 2,4 --steps 1 -o csv
    [ "${#lines[@]}" -eq 3 ]
}

@test "fit: finds the costs again, exactly in simulation" {
    pipebench fit --sim --work sleep:2ms+250us --batch 512 --stages 8 -o json \
        >fit.json
    about "$(json fixed_us <fit.json)" 2000
    about "$(json sample_us <fit.json)" 250
    about "$(json over_best_percent <fit.json)" 0
    [ "$(json status <fit.json)" = 0 ]
}

@test "fit --times predicts from a stored measurement" {
    run -0 pipebench fit --stages 8 --batch 1024 --times 8=1.8s,128=2.2s -o json
    [ "$(json predicted_micro <<<"$output")" = 32 ]
    run -1 pipebench fit --times 8=1s,16=9s
    [[ $output = *'fit only a fixed cost'* ]]
}

@test "fit measures, and ends with a verdict" {
    run --separate-stderr pipebench fit --batch 64 --sizes 2,32 --steps 1 \
        --work sleep:1ms+500us -o json
    [[ $status = [012] ]]
    [ "$(json status <<<"$output")" = "$status" ]
    [ "$status" -eq 0 ] || [ -n "$stderr" ]
}

@test "an interrupted measurement leaves a document marked partial" {
    # A shell makes background commands ignore SIGINT; env resets that.
    env --default-signal=INT "$PIPEBENCH" sweep --batch 4096 --micro 1,2 \
        -o json >cut.json 2>said &
    pid=$!
    until pgrep -P "$pid" >/dev/null; do sleep 0.05; done
    kill -INT "$pid"
    wait "$pid" && status=0 || status=$?
    [ "$status" -eq 130 ]
    [ "$(json partial <cut.json)" = true ]
    [ "$(json status <cut.json)" = 130 ]
}

# ---- formats ----

@test "the same fields in all formats, also of what fails" {
    pipebench sim -o csv | head -1 | tr , '\n' | sed 's/^provenance\.//' | sort >columns
    pipebench sim -o jsonl | head -1 | grep -o '"[a-z_]*":' | tr -d '":' |
        grep -vE '^(schema|version|provenance)$' | sort | comm -3 - columns >differ
    [ ! -s differ ]
    run -70 --separate-stderr pipebench sim --svg /dev/full -o json
    [ "$(json status <<<"$output")" = 70 ]
}
