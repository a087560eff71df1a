#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# ringctl export and rerun: the archive has all that repeats an experiment, the
# repetition is compared, and an archive of a stranger cannot do harm.

# shellcheck disable=SC2154 # stderr, of run
setup_file() {
    bats_require_minimum_version 1.5.0
    BUILD=$(realpath "${B:-build}")
    export BUILD
    unset GRADWIRE_RUN GRADWIRE_RUNS GRADWIRE_DATA
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    export TMPDIR=$PWD/tmp
    mkdir tmp
}

teardown() {
    [ ! -d runs ] || ringctl down --all >/dev/null
}

ringctl() {
    timeout 300 "$BUILD/ringctl" "$@" </dev/null 3>&-
}

# Two classes, linearly separable, in LibSVM format.
rows() {
    awk 'BEGIN { for (i = 0; i < 60; i++) {
        x = i % 7 - 3 + 0.5; y = i % 5 - 2 + 0.25
        printf "%s 1:%g 2:%g\n", (x + y > 0 ? "+1" : "-1"), x, y } }'
}

# The rows of a comparison that have a verdict: with VERDICT
with() {
    awk -v verdict="$1" '$NF == verdict { print $1 }' <<<"$output"
}

@test "export has commands, inputs, versions, events and results; rerun repeats a training bit by bit" {
    rows >'my rows'
    mkdir data
    mv 'my rows' data
    export GRADWIRE_DATA=$PWD/data
    ringctl --seed 3 -c "up 2 --name first; record
        train lr 'my rows' --epochs 3; wait 'done' && step>=1; status --run first" >/dev/null
    run -0 ringctl export first first.tar -o jsonl
    [[ $output = *'"run":"first","archive":"first.tar"'* ]] || false
    run -0 tar -tf first.tar
    for file in commands run.json summary.json events.jsonl log versions.json \
        ops.jsonl steps.jsonl figures.sh; do
        grep -qx "first/$file" <<<"$output"
    done
    tar -xf first.tar
    cat first/commands
    grep -qx "up 2 --name first" first/commands
    grep -qx "train lr inputs/0-my_rows --epochs 3" first/commands
    grep -qx "wait done && step>=1" first/commands
    [ "$(tail -n 1 first/commands)" = down ]
    cmp data/'my rows' first/inputs/0-my_rows
    grep -q '"kernel"' first/versions.json
    if command -v gnuplot >/dev/null; then
        grep -q '<svg' first/figures/ops.svg first/figures/steps.svg
        rm -r first/figures
        PATH=$BUILD:$PATH sh first/figures.sh >/dev/null
        [ -s first/figures/ops.svg ]
    fi
    rm -r data first runs
    unset GRADWIRE_DATA

    run -0 --separate-stderr ringctl rerun first.tar
    for value in lost doubled "done" digest train_loss; do
        with same | grep -qx $value
    done
    [ -z "$(with differs)" ]
    [ -z "$(ls tmp)" ]
}

@test "rerun repeats the fault, fails if a result differs, and keeps the run with --into" {
    ringctl -c 'up 3 ops --name kill; wait op>=2; kill 1; wait alive==2; wait op>=6' >/dev/null
    run -0 --separate-stderr ringctl export kill kill.tar
    run -0 --separate-stderr ringctl rerun kill.tar --into again
    # A terminal shows both values and the verdict.
    if command -v script >/dev/null; then
        script -qec "stty cols 80; NO_COLOR=1 '$BUILD/ringctl' rerun kill.tar 2>/dev/null" \
            /dev/null </dev/null | tr -d '\r' >shown
        cat shown
        grep -qE '^value +before +now +verdict *$' shown
        grep -q '^recovery 1  *node 1: .*  node 1: ' shown
    fi
    [[ $output = *"recovery 1"*"node 1: "*"node 1: "* ]] || false
    [ -s again/kill/runs/kill/summary.json ]
    run -70 --separate-stderr ringctl rerun kill.tar --into again
    [[ $stderr = *"again: File exists"* ]] || false

    tar -xf kill.tar
    sed -i 's/"alive": 2/"alive": 3/' kill/summary.json
    tar -cf wrong.tar kill
    run -1 --separate-stderr ringctl rerun wrong.tar
    [ "$(with differs)" = alive ]
}

@test "export refuses a run that is alive, and one that has no commands" {
    ringctl up 2 ops --name busy >/dev/null
    run -64 --separate-stderr ringctl export busy busy.tar
    [[ $stderr = *"run busy has not ended"* ]] || false
    ringctl down --run busy >/dev/null
    rm runs/busy/commands
    run -64 --separate-stderr ringctl export busy busy.tar
    [[ $stderr = *"was not started by ringctl up"* ]] || false
    [ ! -e busy.tar ]
}

# An archive of the folder `run`, refused with a sentence; nothing is written.
refused() {
    run -65 --separate-stderr ringctl rerun hostile.tar
    [[ $stderr = *"$1"* ]] || {
        printf '%s\n' "$stderr"
        return 1
    }
    [ -z "$(ls tmp)" ]
}

@test "an archive with absolute names, .., links, devices or too much is refused before it is unpacked" {
    mkdir run
    echo '{}' >run/summary.json
    tar -cPf hostile.tar --transform 's,^run,/tmp/E,' run
    refused 'not a name that ringctl export writes'
    tar -cPf hostile.tar --transform 's,^run/,run/../../,' run/summary.json
    refused 'not a name that ringctl export writes'
    tar -cf hostile.tar --transform 's,^run,other/run,' run
    tar -rf hostile.tar run/summary.json
    refused 'is outside of the folder'
    mkdir run/empty
    tar -cf hostile.tar run/empty
    rmdir run/empty
    refused 'summary.json is missing: the archive is not an export, or is cut short'
    ln -s /etc/passwd run/commands
    tar -cf hostile.tar run
    refused 'run/commands -> /etc/passwd'
    rm run/commands
    ln run/summary.json run/link
    tar -cf hostile.tar run
    refused 'not a plain file'
    rm run/link
    mkfifo run/log
    tar -cf hostile.tar run
    refused 'not a plain file'
    rm run/log
    truncate -s 2G run/events.jsonl
    tar -cSf hostile.tar run
    refused 'more than 1024 MiB'
    rm run/events.jsonl
    for i in $(seq 300); do : >"run/$i"; done
    tar -cf hostile.tar run
    refused 'more than 256 entries'
    echo 'not an archive' >hostile.tar
    refused 'tar failed'
}

@test "commands that read or write outside of the archive, or load code, are refused" {
    mkdir run
    echo '{"seed": 1}' >run/run.json
    echo '{}' >run/summary.json
    while IFS='|' read -r command reason; do
        echo "$command" >run/commands
        tar -cf hostile.tar run
        refused "$reason"
    done <<'END'
source x|source is not a command of an experiment
record /tmp/events|record is not a command of an experiment
rerun x.tar|rerun is not a command of an experiment
up 2 train lr /etc/passwd|/etc/passwd is outside of the archive
up 2 train lr a/../../b|is outside of the archive
up 2 --snapshot=/tmp/x|is outside of the archive
up 2 ops --suspicion inputs/a.so|plug-ins are not loaded
up 2 ops --placement=inputs/a.so|plug-ins are not loaded
up 2 'ops|unterminated quote
END
}
