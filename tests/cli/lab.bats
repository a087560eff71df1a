#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# labs/lab, the driver of the labs, and a walk through the first five labs as a learner
# does it. lab_walk.sh does that for any lab.

setup_file() {
    bats_require_minimum_version 1.5.0
    cd "$BATS_TEST_DIRNAME/../.." || return 1
    ROOT=$PWD
    BUILD=$(realpath "${B:-build}")
    # The interpreter itself: a version manager's shim takes 100 ms for each start.
    if command -v python3 >/dev/null; then
        mkdir "$BATS_FILE_TMPDIR/bin"
        ln -s "$(python3 -c 'import sys; print(sys.executable)')" "$BATS_FILE_TMPDIR/bin/python3"
        PATH=$BATS_FILE_TMPDIR/bin:$PATH
    fi
    export ROOT BUILD PATH
    unset GRADWIRE_RUN GRADWIRE_RUNS LAB_WORK GW_BIN NO_COLOR CLICOLOR_FORCE
}

# A folder that looks like the checkout, for a learner to work in.
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    for name in labs lib man Makefile README.md; do
        ln -s "$ROOT/$name" .
    done
    ln -s "$BUILD" build
}

lab() {
    labs/lab "$@"
}

# Starts lab 01 and predicts, some right and some wrong.
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

@test "labs 00, 01, 24, 25, 26: the starter fails, the solution passes, README runs" {
    # Lab 24 compiles programs, and sanitizers want to be linked into these.
    local labs=(00 01 25 26)
    [ -n "${SAN:-}" ] || labs+=(24)
    # Without bats' file 3, which a grandchild could keep open.
    run env B="$BUILD" "$ROOT/tests/cli/lab_walk.sh" "${labs[@]}" 3>&-
    echo "$output"
    [ "$status" -eq 0 ]
    for number in "${labs[@]}"; do
        [[ $output = *"lab $number: "*": ok"* ]]
    done
}

@test "the files of every lab have the form of labs/README.md" {
    run -0 env B="$BUILD" "$ROOT/tests/cli/lab_walk.sh" -f 3>&-
}

@test "list and labs/README.md name all labs" {
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
        [ -d "labs/$home" ] || { echo "labs/$home is missing"; return 1; }
    done <named
    # The order of the list is that of the table, which is not that of the numbers.
    sed 's/-.*//' named >order
    sed -n 's/^\([0-9][0-9]\) .*/\1/p' <<<"$output" | cmp - order
    [ "$(sort order)" != "$(cat order)" ]
    [ ! -e lab-work ]
}

@test "the commands of labs/README.md run" {
    mkdir examples
    awk -v dir=examples -f "$ROOT/tests/cli/examples.awk" labs/README.md
    [ "$(wc -l <examples/commands)" -ge 2 ]
    bash -eux examples/commands
}

@test "unknown labs, commands and options are errors that name them" {
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
    [[ $output = *'unknown lab "77"'*list* ]]
    run lab check 01
    [ "$status" -eq 64 ]
    [[ $output = *"not started"*"start 01"* ]]
    run lab help
    [ "$status" -eq 0 ]
}

@test "a lab has a number, a name, and both together" {
    for name in 1 01 collectives 01-collectives; do
        run lab start "$name"
        [ "$status" -eq 0 ]
        [[ $output = *"lab 01:"* ]]
    done
}

@test "without a build it asks for make" {
    rm build
    predicted
    PATH=/usr/bin:/bin run lab run 01
    [ "$status" -eq 69 ]
    [[ $output = *make* ]]
}

@test "a prediction is a number: invalid answers are asked again, units and formulas are valid" {
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
    [[ $output = *"unknown name lots"* ]]
    [[ $output = *"the result is not a number"* ]]
    [ "$(grep -c 'Type a number or a formula' <<<"$output")" -eq 4 ]
    run awk '{ printf "%s=%s ", $1, $2 }' lab-work/01/record/predictions
    [ "$output" = "broadcast=1048576 allgather=786432 reduce_scatter=786432 alltoall=786432 allreduce=1572864 busbw=15 " ]
}

@test "incomplete predictions are not recorded, and unknown questions are refused" {
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

@test "the run prints prediction, measurement, formula and gap in one row" {
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

@test "a run without all measurements does not count" {
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

@test "check runs with one seed or many, and names those that fail" {
    lab start 01
    lab solution 01 --take
    # Right only for 5 ranks, the number of seed 1.
    sed -i 's|^allgather .*|allgather = 4/5*S|' lab-work/01/costs.txt
    run lab check 01 -n 3
    echo "$output"
    [ "$status" -eq 1 ]
    [[ ${lines[0]} = "seed 1 "*PASS* ]]
    [[ $output = *"seed 2 "*FAIL*"all-gather, by a ring: "*", got "*"seed 3 "* ]]
    [[ $output = *"failing seeds: 2 3"*"check 01 --seed 2"* ]]
    run lab check 01 --seed 2
    [ "$status" -eq 1 ]
    [[ $output = *"all-gather, by a ring"*"look at "*"repeat "*"collrun run allgather"* ]]
    run lab check 01 -n x
    [ "$status" -eq 64 ]
}

@test "a script may be in Python: the changed file counts, of two the newer" {
    # Without Python, the file in awk works.
    mkdir none
    printf '#!/bin/sh\nexit 127\n' >none/python3
    chmod +x none/python3
    lab start 02
    lab solution 02 --take
    PATH=$PWD/none:$PATH run -0 lab check 02
    [[ $output = *"choose.awk, for 8 numbers"* ]]
    command -v python3 >/dev/null || skip "python3 is not installed"
    cp lab-work/02/python/choose.py lab-work/02/choose.py
    run -0 lab check 02
    [[ $output = *"choose.py, for 8 numbers"* ]]
    touch lab-work/02/choose.awk
    run -0 lab check 02
    [[ $output = *"choose.awk, for 8 numbers"* ]]
}

@test "starters in Python run and fail; solutions in Python pass" {
    command -v python3 >/dev/null || skip "python3 is not installed"
    for home in labs/*/solution/python; do
        home=${home%/solution/python}
        number=$(basename "$home" | cut -d - -f 1)
        case $number in
        24 | 25 | 26) continue ;; # walked above, also in Python
        esac
        part=$(sed -n 's/^parts=//p' "$home/lab.conf" | grep -oE 'choice|fates|shards|assign|late|fit')
        lab start "$number"
        for file in "$home"/exercise/*.py; do
            echo "# mine" >>"lab-work/$number/${file##*/}"
        done
        run -1 lab check "$number"
        echo "$output"
        [[ $output = *"${file##*/}"*"FAIL"* && $output != *Traceback* ]]
        cp "$home"/solution/python/*.py "lab-work/$number"
        lab check "$number" >said || true
        awk -F '\t' -v part="$part" '$3 == part' \
            "lab-work/$number/record/check/verdicts" >of_script
        [ -s of_script ]
        run ! grep -v '^PASS' of_script
    done
}

@test "lab 11: no built-in schedule passes as fill.pipe" {
    lab start 11
    lab solution 11 --take
    for schedule in gpipe 1f1b interleaved zb-h1; do
        build/pipebench plan -s $schedule -n 3 -m 6 --text >lab-work/11/fill.pipe
        run -1 lab check 11
        echo "$output"
        [[ $output = *"FAIL     26 times F: only the fill is left of the bubble"* ]]
        [[ $output != *"FAIL     as fast as the formula"* ]]
    done
}

@test "a lab with a program in C runs where labs alone is linked and the tools are in PATH" {
    [ -z "${SAN:-}" ] || skip "sanitizers want to be linked into the program"
    rm man Makefile README.md build
    mkdir checkout
    mv lib checkout
    ln -s "$BUILD" checkout/build
    PATH=$PWD/checkout/build:$PATH
    lab start 24
    yes 1 2>/dev/null | lab predict 24 >/dev/null
    run -0 lab run 24
    [[ $output = *exposed_us* && $output != *"No such file"* ]]
}

@test "an invalid formula fails with its reason" {
    lab start 01
    printf 'broadcast = S +\nallgather = N/2\n' >lab-work/01/costs.txt
    run lab check 01
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output = *"broadcast.formula is not a number: something is missing at the end"* ]]
    [[ $output = *"allgather.formula is not a number: unknown name N"* ]]
}

@test "each hint command shows the next hint" {
    lab start 01
    first=$(lab hint 01)
    second=$(lab hint 01)
    [[ $first = "hint 1 of"* ]]
    [[ $second = "hint 2 of"* ]]
    [ "$(lab hint 01 1)" = "$first" ]
    run lab hint 01 99
    [ "$status" -eq 64 ]
}

@test "hints fit a terminal, and drawings in them stay unchanged" {
    awk -v RS= '{ print >("hint." ++n) }' labs/[0-9][0-9]-*/hints.txt
    for hint in hint.*; do
        awk -f labs/lib/text.awk -f labs/lib/fill.awk "$hint"
    done >said
    lab start 00 >/dev/null
    lab hint 00 1 | diff - <(echo "hint 1 of 3" && awk -f labs/lib/text.awk -f labs/lib/fill.awk hint.1)
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

@test "solution shows or copies the files; reset keeps the old ones" {
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

# page_read: prints the line of start that names the pages.
page_read() {
    lab start 01 | grep '^Read'
    lab reset 01 >/dev/null
}

@test "start names the Chinese page first in a Chinese locale, second otherwise" {
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

@test "a learner's folder is never inside labs" {
    LAB_WORK=labs/mine run lab start 00
    [ "$status" -eq 64 ]
    [ ! -e labs/mine ]
    (cd labs && ./lab start 00)
    [ -d lab-work/00 ]
    [ ! -e labs/lab-work ]
}

@test "two learners work at once in separate folders" {
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

@test "a second process in the same folder is refused with the number of the first" {
    lab start 01
    echo $$ >lab-work/01/record/busy
    run lab check 01
    [ "$status" -eq 75 ]
    [[ $output = *"process $$"* ]]
    # A dead process holds nothing.
    (exit 0) &
    wait $!
    echo $! >lab-work/01/record/busy
    run lab check 01
    [ "$status" -eq 1 ]
    [ ! -e lab-work/01/record/busy ]
}

# Job control makes it a process group, which Ctrl-C reaches.
@test "Ctrl-C in a run leaves no processes and files, and the lab runs again" {
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

@test "watch checks each time a file is saved, until Ctrl-C" {
    lab start 01
    set -m
    # Tests in the background ignore SIGINT.
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

@test "explain shows the answer after the run, or with --now" {
    labs/lab start 01
    run -64 labs/lab explain 01
    [[ $output = *"lab 01 has not run yet"*"labs/lab run 01"* ]]
    run -0 labs/lab explain 01 --now
    [ "$output" = "$(cat labs/01-collectives/explain.md)" ]
    run -0 env LANG=zh_CN.UTF-8 labs/lab explain 01 --now
    [ "$output" = "$(cat labs/01-collectives/explain.zh.md)" ]
    run -64 labs/lab explain 01 --later
    [[ $output = *"unknown option --later"* ]]
}

@test "score names the first lab, and later explains its columns" {
    run lab score
    [[ $output = *"0 of "*"No lab is started yet. Begin with: labs/lab start 00" ]]
    lab start 00
    lab predict 00 -y "messages=1 message" bytes=32K "epoch=3 epoch" lost="0 contribution"
    run lab score
    [[ $output =~ 00\ A\ tour.*-\ +-\ +4\ of\ 12 ]]
    [[ $output = *"right: predictions near the measurement."* ]]
    [[ $output != *"No lab is started"* ]]
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

@test "all output but commands fits 80 columns; colours only on request" {
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
