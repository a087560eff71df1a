#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# labs/lab, the driver of the labs, and labs 00 and 01 as a learner goes through
# them: lab_walk.sh does that with any lab.

setup_file() {
    bats_require_minimum_version 1.5.0
    cd "$BATS_TEST_DIRNAME/../.." || return 1
    ROOT=$PWD
    BUILD=$(realpath "${B:-build}")
    export ROOT BUILD
    unset GRADWIRE_RUN GRADWIRE_RUNS LAB_WORK GW_BIN NO_COLOR CLICOLOR_FORCE
}

# A place that looks like the checkout, where a learner may work.
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    for name in labs man Makefile README.md; do
        ln -s "$ROOT/$name" .
    done
    ln -s "$BUILD" build
}

lab() {
    labs/lab "$@"
}

# Lab 01 started and predicted, right or wrong.
predicted() {
    lab start 01
    lab predict 01 -y broadcast=1M allgather=768K reduce_scatter=768K \
        alltoall=768K allreduce=2M busbw=10
}

# wait_for COMMAND...
wait_for() {
    for _ in $(seq 3000); do
        ! "$@" || return 0
        read -rt 0.02 <> <(:) || true
    done
    return 1
}

@test "labs 00 and 01: what is given fails, the solution passes, README runs" {
    # Not the files of bats, lest a child of a child holds them open.
    run env B="$BUILD" "$ROOT/tests/cli/lab_walk.sh" 00 01 3>&-
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output = *"lab 00"*"lab 01"* ]]
}

@test "the files of every lab have the form that labs/README.md tells" {
    run -0 env B="$BUILD" "$ROOT/tests/cli/lab_walk.sh" -f 3>&-
}

@test "list names the labs that there are, and so does labs/README.md" {
    run lab list
    [ "$status" -eq 0 ]
    for home in labs/[0-9][0-9]-*; do
        title=$(sed -n 's/^title=//p' "$home/lab.conf")
        number=$(basename "$home" | cut -d - -f 1)
        [[ $output = *"$number $title"* ]]
        grep -qF "[$number]($(basename "$home")/README.md)" labs/README.md
    done
    sed -n 's/.*](\([0-9][^)]*\)\/README.md).*/\1/p' labs/README.md >named
    [ "$(wc -l <named)" -ge 20 ]
    while read -r home; do
        [ -d "labs/$home" ] || { echo "there is no $home"; return 1; }
    done <named
    [ ! -e lab-work ]
}

@test "the commands of labs/README.md run" {
    mkdir examples
    awk -v dir=examples -f "$ROOT/tests/cli/examples.awk" labs/README.md
    [ "$(wc -l <examples/commands)" -ge 2 ]
    bash -eux examples/commands
}

@test "what does not exist is an error with a name" {
    for words in "check 77" "bogus" "check" "start 00 more" "list-me 0" \
        "hint 00 x" "predict 00 twice" "solution 00 --now" "score --bad"; do
        lab start 00 >/dev/null
        # shellcheck disable=SC2086,SC2154
        run --separate-stderr lab $words
        # shellcheck disable=SC2154
        echo "$words: $output $stderr"
        [ "$status" -eq 64 ]
        [[ $stderr = "lab: "* ]]
    done
    run lab check 77
    [[ $output = *'no lab "77"'*list* ]]
    run lab check 01
    [ "$status" -eq 64 ]
    [[ $output = *"not started"*"start 01"* ]]
    run lab help
    [ "$status" -eq 0 ]
}

@test "a lab goes by its number, its name or both" {
    for name in 1 01 collectives 01-collectives; do
        run lab start "$name"
        [ "$status" -eq 0 ]
        [[ $output = *"lab 01:"* ]]
    done
}

@test "without a build it says make" {
    rm build
    predicted
    PATH=/usr/bin:/bin run lab run 01
    [ "$status" -eq 69 ]
    [[ $output = *make* ]]
}

@test "a prediction is a number: rubbish is asked again, units and formulas are fine" {
    lab start 01
    run lab predict 01 <<'EOT'
lots

1M
3/4*S
2*
1e400
768K bytes
(P-1)/P*S
2*768K
15 GB/s
EOT
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output = *"lots is not known"* ]]
    [[ $output = *"that comes to no number"* ]]
    [ "$(grep -c 'A number is asked for' <<<"$output")" -eq 4 ]
    run awk '{ printf "%s=%s ", $1, $2 }' lab-work/01/record/predictions
    [ "$output" = "broadcast=1048576 allgather=786432 reduce_scatter=786432 alltoall=786432 allreduce=1572864 busbw=15 " ]
}

@test "predictions that break off are none, and what is not asked is refused" {
    lab start 00
    printf '1\n2\n' >two
    run lab predict 00 <two
    [ "$status" -eq 64 ]
    [ ! -e lab-work/00/record/predictions ]
    run lab predict 00 -y messages=4
    [ "$status" -eq 64 ]
    [[ $output = *'"bytes"'* ]]
    run lab predict 00 -y messages=4 bytes=1 epoch=1 lost=1 weather=5
    [ "$status" -eq 64 ]
    run lab predict 00 -y messages=4 bytes=much epoch=1 lost=1
    [ "$status" -eq 64 ]
    run lab run 00
    [ "$status" -eq 64 ]
    [[ $output = *"predict first"* ]]
}

@test "after the run predicted, measured, formula and gap stand side by side" {
    predicted
    run lab run 01
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output =~ broadcast\ +1048576\ +1048576\ +1048576\ +none ]]
    [[ $output =~ allreduce\ +2097152\ +1572864\ +1572864\ +\+33.3\ % ]]
    [[ $output =~ busbw\ +10\ +15\ +15\ +-33.3\ % ]]
    [[ $output = *'$ build/collrun run allgather --algo ring -n 4 -b 1M'* ]]
    [[ $output = *"Patarasuk, Yuan 2009"* ]]
    run lab predict 01 -y broadcast=1
    [ "$status" -eq 64 ]
    [[ $output = *"has run"* ]]
}

@test "a run in which something was not measured does not count" {
    predicted
    mkdir tools
    for tool in collrun ringctl ringtop pipebench psnode; do
        printf '#!/bin/sh\necho "no such luck" >&2\nexit 70\n' >tools/$tool
        chmod +x tools/$tool
    done
    GW_BIN=tools run lab run 01
    echo "$output"
    [ "$status" -ne 0 ]
    [[ $output = *"no such luck"* ]]
    [ ! -e lab-work/01/record/scores ]
    GW_BIN=tools run lab check 01
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output = *UNKNOWN*"was not measured"* ]]
    lab run 01
}

@test "check repeats with a seed or many, and names those that fail" {
    lab start 01
    lab solution 01 --take
    # Right for 5 ranks, which is seed 1's number, and for no other.
    sed -i 's|^allgather .*|allgather = 4/5*S|' lab-work/01/costs.txt
    run lab check 01 -n 3
    echo "$output"
    [ "$status" -eq 1 ]
    [[ ${lines[0]} = "seed 1 "*PASS* ]]
    [[ $output = *"failing seeds: 2 3"*"check 01 --seed 2"* ]]
    run lab check 01 --seed 2
    [ "$status" -eq 1 ]
    [[ $output = *"all-gather, by a ring"*"look at "*"repeat "*"collrun run allgather"* ]]
    run lab check 01 -n x
    [ "$status" -eq 64 ]
}

@test "a formula that is none fails with its reason" {
    lab start 01
    printf 'broadcast = S +\nallgather = N/2\n' >lab-work/01/costs.txt
    run lab check 01
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output = *"broadcast.formula is no number: something is missing at the end"* ]]
    [[ $output = *"allgather.formula is no number: N is not known"* ]]
}

@test "hints come one after the other" {
    lab start 01
    first=$(lab hint 01)
    second=$(lab hint 01)
    [[ $first = "hint 1 of"* ]]
    [[ $second = "hint 2 of"* ]]
    [ "$(lab hint 01 1)" = "$first" ]
    run lab hint 01 99
    [ "$status" -eq 64 ]
}

@test "hints fill a terminal and no more, and drawings in them stay" {
    for home in labs/[0-9][0-9]-*; do
        number=$(basename "$home" | cut -d - -f 1)
        lab start "$number" >/dev/null
        for _ in $(seq "$(awk -v RS= 'END { print NR }' "$home/hints.txt")"); do
            lab hint "$number" >>said
        done
    done
    [ "$(wc -l <said)" -gt 100 ]
    run awk 'length > 79' said
    [ "$output" = "" ]
    printf 'One, and two\nare:\n    0  2\n    1  3\nso it\nis.\n' >text
    run awk -f "$ROOT/labs/lib/text.awk" -f "$ROOT/labs/lib/fill.awk" text
    [ "$output" = "One, and two are:
    0  2
    1  3
so it is." ]
}

@test "the solution is shown, or taken; reset keeps what was there" {
    lab start 01
    run lab solution 01
    [[ $output = *"(P-1)/P*S"* ]]
    cmp lab-work/01/costs.txt labs/01-collectives/exercise/costs.txt
    echo "# mine" >lab-work/01/costs.txt
    lab start 01
    [ "$(cat lab-work/01/costs.txt)" = "# mine" ]
    lab reset 01
    cmp lab-work/01/costs.txt labs/01-collectives/exercise/costs.txt
    grep -qx "# mine" lab-work/old/01-*/costs.txt
}

# The page that start names first: "Read" and what is in brackets.
page_read() {
    lab start 01 | grep '^Read'
    lab reset 01 >/dev/null
}

@test "who reads Chinese is sent to the Chinese page, others are told of it" {
    english="Read     labs/01-collectives/README.md (in Chinese: README.zh.md)"
    chinese="Read     labs/01-collectives/README.zh.md (in English: README.md)"
    export LC_ALL='' LC_MESSAGES='' LANG=C.UTF-8
    [ "$(page_read)" = "$english" ]
    [ "$(LANG=zh_CN.UTF-8 page_read)" = "$chinese" ]
    [ "$(LC_MESSAGES=zh_TW page_read)" = "$chinese" ]
    [ "$(LANG=zh_CN.UTF-8 LC_MESSAGES=de_DE.UTF-8 page_read)" = "$english" ]
    [ "$(LANG=zh_CN.UTF-8 LC_ALL=C page_read)" = "$english" ]
    [ "$(LC_ALL=zh_CN.UTF-8 lab start 01 | sed -n 3p)" = \
        "$(sed -n '1s/# //p' labs/01-collectives/README.zh.md)" ]
}

@test "a learner's folder is never inside of labs" {
    LAB_WORK=labs/mine run lab start 00
    [ "$status" -eq 64 ]
    [ ! -e labs/mine ]
    (cd labs && ./lab start 00)
    [ -d lab-work/00 ]
    [ ! -e labs/lab-work ]
}

@test "two learners at once, each in a folder of his own" {
    for who in ada "bob b"; do
        LAB_WORK=$who lab start 00
        LAB_WORK=$who lab solution 00 --take
        LAB_WORK=$who lab check 00 >"$who.said" 3>&- &
    done
    wait
    cat ./*.said
    grep -q "^PASS" ada.said
    grep -q "^PASS" "bob b.said"
}

@test "two at once in the same folder: the second is told of the first" {
    lab start 01
    echo $$ >lab-work/01/record/busy
    run lab check 01
    [ "$status" -eq 75 ]
    [[ $output = *"process $$"* ]]
    # Who was killed holds nothing.
    (exit 0) &
    wait $!
    echo $! >lab-work/01/record/busy
    run lab check 01
    [ "$status" -eq 1 ]
    [ ! -e lab-work/01/record/busy ]
}

# Job control makes it a process group, which is what Ctrl-C reaches.
@test "Ctrl-C in the middle leaves nothing behind, and the lab runs again" {
    lab start 00
    lab predict 00 -y messages=40 bytes=32K epoch=3 lost=0
    set -m
    lab run 00 >said 2>&1 </dev/null 3>&- &
    job=$!
    set +m
    wait_for [ -s lab-work/00/record/run/storm.jsonl ]
    kill -INT -- -$job
    code=0
    wait $job || code=$?
    cat said
    [ "$code" -eq 130 ]
    [ ! -e lab-work/00/record/busy ]
    [ ! -e lab-work/00/record/scores ]
    GRADWIRE_RUNS=lab-work/00/record/run/runs run build/ringctl ls -o csv
    [[ $output != *training* ]]
    lab run 00
    [ -s lab-work/00/record/scores ]
}

waits_again() {
    [ "$(grep -c '^Waiting for' said)" -ge 2 ]
}

@test "watch checks again whenever a file is saved, until Ctrl-C" {
    lab start 01
    set -m
    # Whoever runs these tests in the background ignores SIGINT.
    env --default-signal=INT labs/lab watch 01 >said 2>&1 </dev/null 3>&- &
    job=$!
    set +m
    wait_for grep -q "^Waiting for" said
    grep -q "^FAIL" said
    lab solution 01 --take
    wait_for grep -q "^PASS" said
    wait_for waits_again
    kill -INT -- -$job
    code=0
    wait $job || code=$?
    [ "$code" -eq 130 ]
}

@test "score says where to begin, and then what its columns mean" {
    run lab score
    [[ $output = *"0 of "*"Nothing is done yet. Begin with: labs/lab start 00" ]]
    lab start 00
    lab predict 00 -y "messages=1 message" bytes=32K "epoch=3 epoch" lost="0 contribution"
    run lab score
    [[ $output =~ 00\ A\ tour.*-\ +-\ +4\ of\ 12 ]]
    [[ $output = *"right: predictions that came near."* ]]
    [[ $output != *"Nothing is done"* ]]
}

@test "score: a table, and a class as CSV" {
    predicted
    lab run 01
    lab solution 01 --take
    lab check 01
    run lab score -v
    echo "$output"
    [[ $output =~ 01\ Every.*PASS\ +4\ of\ 6\ +18\ of\ 18 ]]
    [[ $output = *"01  allreduce            predicted        2097152  measured        1572864"* ]]
    mkdir -p class/ada class/bob
    mv lab-work class/ada
    LAB_WORK=class/bob lab start 00
    run lab score --csv class/ada class/bob
    echo "$output"
    [ "$status" -eq 0 ]
    [[ ${lines[0]} = learner,lab,title,* ]]
    awk -F, '$1 == "ada" && $2 == "01-collectives"' <<<"$output" |
        grep -q ',6,6,4,14,14,18,18,[0-9]*,PASS$'
    awk -F, '$1 == "bob" && $2 == "01-collectives"' <<<"$output" |
        grep -q ',6,0,0,14,0,0,18,0,-$'
    run lab score --csv class/eve
    [ "$status" -eq 65 ]
}

@test "everything but commands fits 80 columns; colours only for who wants them" {
    {
        lab start 01
        lab list
        lab help
        lab score
        lab hint 01
        (echo "40 messages" && yes 1 2>/dev/null) | lab predict 01
        lab run 01
        lab check 01 || true
    } >said
    run awk 'length > 80 && !/^\$ / && !/repeat /' said
    [ "$output" = "" ]
    run ! grep "$(printf '\033')" said
    CLICOLOR_FORCE=1 run lab check 01
    [[ $output = *$'\033[31mFAIL'* ]]
    NO_COLOR=1 CLICOLOR_FORCE=1 run lab check 01
    [[ $output != *$'\033'* ]]
}
