#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# ringtop as a person meets it: pictures of a recording as text, broken and
# wrong recordings, a pipe that is followed, an asciicast; and, driven by tmux,
# the full screen: it starts, survives a resize, freezes, steps, and gives the
# terminal back as it was.

setup_file() {
    bats_require_minimum_version 1.5.0
    COLLRUN=$(realpath "${COLLRUN:-build/collrun}")
    RINGTOP=$(realpath "$(dirname "$COLLRUN")/ringtop")
    export COLLRUN RINGTOP MAN=$PWD/man/ringtop.1
    export GRADWIRE_CALIBRATION=$BATS_FILE_TMPDIR/none.json
    export RING=$BATS_FILE_TMPDIR/ring.jsonl
    export LC_ALL=C.UTF-8
    "$COLLRUN" run labs/plans/ring-allreduce-3.plan --wire ipc \
        --events "$RING" >/dev/null
    sed -i "/\"kind\":\"wait\"/d" "$RING" # of a busy machine
    # shellcheck disable=SC2046
    ${CC:-cc} -o "$BATS_FILE_TMPDIR/jsoncheck" tests/cli/jsoncheck.c \
        $(pkg-config --cflags --libs jansson)
}

setup() {
    load terminal
    cd "$BATS_TEST_TMPDIR" || return 1
}

teardown() {
    close_terminal
}

ringtop() {
    "$RINGTOP" "$@"
}

json() {
    "$BATS_FILE_TMPDIR/jsoncheck" "$@"
}

# ---- text ----

@test "the last picture of a recorded ring has every sum complete" {
    run -0 --separate-stderr ringtop --from "$RING" --batch
    [ -z "$stderr" ]
    echo "$output"
    [[ ${lines[0]} = " ringtop  allreduce 64K  op 1  step 4/4  3 alive"*"[END]" ]]
    for rank in 0 1 2; do
        [[ $output = *$'\n'" r$rank    3=   3=   3="* ]]
    done
    [[ $output = *"op 1 allreduce 64K: "* ]]
}

@test "three pictures, spread over the events, the same each time" {
    ringtop --from "$RING" --batch -n 3 --size 60x14 >one
    ringtop --from "$RING" -n 3 --size 60x14 >two
    diff -u one two
    [ "$(grep -c 'allreduce 64K  op 1' one)" -eq 3 ]
    grep -q '\[10/30\]$' one
    grep -q '\[20/30\]$' one
    grep -q '\[END\]$' one
    [ "$(wc -L <one)" -le 60 ]
}

@test "every page draws something at every size" {
    for page in overview ring chunks slots clocks pipeline events failover loss; do
        for size in 40x10 80x24 200x50; do
            ringtop --from "$RING" --page "$page" --size "$size" >out
            [ "$(wc -L <out)" -le "${size%x*}" ]
            [ "$(wc -l <out)" -gt 3 ]
        done
    done
    run -0 ringtop --from "$RING" --size 38x9
    [[ $output = *"terminal too small (38x9)"* ]]
}

@test "ASCII output by locale or --ascii" {
    ringtop --from "$RING" >utf8
    ringtop --from "$RING" --ascii >ascii
    LC_ALL=C ringtop --from "$RING" >in_c
    LC_ALL=C grep -q '[^ -~]' utf8
    run -1 env LC_ALL=C grep '[^ -~]' ascii
    diff ascii in_c
}

@test "the last picture as JSON and CSV" {
    ringtop --from "$RING" -o json >out
    [ "$(json rows 2 state <out)" = idle ]
    [ "$(json rows 2 chunks_complete <out)" -eq 3 ]
    [ "$(json ops_doubled <out)" -eq 0 ]
    [ "$(json events <out)" -eq 30 ]
    run -0 ringtop --from "$RING" -o csv
    [[ ${lines[0]} = rank,state,op,step,waits_on,bytes_sent,* ]]
    [ "${#lines[@]}" -eq 4 ]
}

# ---- invalid recordings ----

@test "a truncated recording: a message, and the readable part" {
    head -c 3000 "$RING" >cut.jsonl
    run -65 --separate-stderr ringtop --from cut.jsonl
    [[ $stderr = "ringtop: cut.jsonl:"*": incomplete line at the end of the file; "*" events are shown" ]]
    [[ $output = *"allreduce 64K"* ]]
    run -65 --separate-stderr ringtop --from cut.jsonl -o json
    [ "$(json status <<<"$output")" -eq 65 ]
    [ "$(json rows '#' <<<"$output")" -eq 3 ]
}

@test "lines that are not events are counted" {
    { head -5 "$RING"; echo; echo "what?"; echo '{"kind":"fly"}'; tail -n +6 "$RING"; } >odd.jsonl
    run -65 --separate-stderr ringtop --from odd.jsonl
    [[ $stderr = "ringtop: odd.jsonl:7: "*" (and 1 more lines); 30 events are shown" ]]
    [[ $output = *"r0    3=   3=   3="* ]]
}

@test "a file that is not a recording is refused" {
    run -65 --separate-stderr ringtop --from "$MAN"
    [[ $stderr = *"0 events are shown" ]]
    [ -z "$output" ]
    run -65 --separate-stderr ringtop --from /dev/null
    [[ $stderr = "ringtop: /dev/null: is a device; "* ]]
    : >empty
    run -65 --separate-stderr ringtop --from empty
    [ "$stderr" = "ringtop: no event in the recording" ]
    run -65 --separate-stderr ringtop --from nowhere
    [ "$stderr" = "ringtop: nowhere: No such file or directory" ]
    run -65 --separate-stderr ringtop --from /
    [ "$stderr" = "ringtop: /: Is a directory" ]
    run -64 --separate-stderr ringtop nowhere.jsonl
    [[ $stderr = *"play a recording with --from FILE"* ]]
    GRADWIRE_RUNS=$PWD/runs run -69 --separate-stderr ringtop nowhere
    [[ $stderr = "ringtop: unknown run nowhere"* ]]
    GRADWIRE_RUNS=$PWD/runs run -69 --separate-stderr ringtop --ascii
    [[ $stderr = "ringtop: no run found"* ]]
    run -64 --separate-stderr ringtop - --size 80
    [[ $stderr = *"--size must be columns and rows such as 80x24"* ]]
}

# ---- moments ----

@test "--epoch, --op and --at show a moment of a recording" {
    "${COLLRUN%collrun}ringctl" sim ring -n 4 --faults 'at 202500us crash 2' \
        --for 210ms --events kill.jsonl >/dev/null
    ringtop --from kill.jsonl --page chunks --epoch 2 >epoch
    cat epoch
    grep -q ' epoch 2 ' epoch
    grep -q ' chunks of op 0 ' epoch
    # Member 3 has begun chunk 2 itself; 1 had the whole sum without 2.
    grep -q '^ n0    1+   1+   1+   1+' epoch
    grep -q '^ n1    1+   1+   3=   1+' epoch
    grep -q '^ n2 x  -    -    -    -' epoch
    ringtop --from kill.jsonl --page chunks --op 0 >op
    grep -q ' chunks of op 0 ' op
    [ "$(grep -c '^ n[013]    3=   3=   3=   3=' op)" -eq 3 ]
    ringtop --from kill.jsonl --page chunks --op 0 -n 3 >three
    [ "$(grep -c 'chunks of op 0' three)" -eq 3 ]
    ringtop --from kill.jsonl --page chunks --at 80ms >moment
    grep -q " epoch 1 " moment
    [ "$(json events <<<"$(ringtop --from kill.jsonl --at 0s -o json)")" -le 5 ]
    run -64 --separate-stderr ringtop --from kill.jsonl --op 99
    [[ $stderr = "ringtop: --op 99: the recording has 0 to "* ]]
    run -64 --separate-stderr ringtop --from kill.jsonl --epoch 7
    [[ $stderr = "ringtop: --epoch 7: the recording has 1 to 2" ]]
    run -64 --separate-stderr ringtop --from "$RING" --epoch 1
    [[ $stderr = "ringtop: the recording has no epochs" ]]
    run -64 --separate-stderr ringtop --from kill.jsonl --at 1h
    run -64 --separate-stderr ringtop --from kill.jsonl --at 90s
    [[ $stderr = "ringtop: --at 90 s: the recording ends after "* ]]
    run -64 --separate-stderr ringtop --op 1
    [[ $stderr = *"use --from FILE"* ]]
    run -64 --separate-stderr ringtop --from kill.jsonl --op 1 --epoch 1
    [[ $stderr = *"use only one of --at, --op, --epoch"* ]]
}

@test "a double count is shown as an alarm, and sets the status" {
    awk '{ print } /"apply"/ && /"value":1/ && !done { print; done = 1 }' \
        "$RING" >twice.jsonl
    run -1 --separate-stderr ringtop --from twice.jsonl --page events
    [[ ${lines[0]} = *" DOUBLE COUNT "* ]]
    [[ $output = *"DOUBLE COUNT in op 1: rank "*" has rank "*" twice in c"* ]]
    [ "$stderr" = "ringtop: 1 ops counted a contribution twice" ]
    run -1 --separate-stderr ringtop --from twice.jsonl --page chunks
    [[ $output = *'!'* ]]
}

# ---- pipes ----

@test "a pipe is followed" {
    mkfifo pipe
    ringtop - --batch --every 50ms --size 60x12 <pipe >out &
    pid=$!
    exec 7>pipe
    head -12 "$RING" >&7
    until_true grep -q 'op 1.*\[LIVE\]' out
    tail -n +13 "$RING" >&7
    exec 7>&-
    wait "$pid"
    tail -13 out
    tail -13 out | grep -q ' step 4/4 .*\[END\]'
}

@test "a silent pipe ends after --timeout" {
    mkfifo pipe
    exec 7<>pipe
    run -124 --separate-stderr ringtop - --timeout 100ms --size 40x10 <pipe 7>&-
    exec 7>&-
    [ "$stderr" = "ringtop: no event from stdin for 0.1 s: timed out" ]
}

@test "Ctrl-C ends it with status 130" {
    mkfifo pipe
    exec 7<>pipe
    env --default-signal=INT "$RINGTOP" - --batch --every 20ms --size 40x10 <pipe 7>&- >out &
    pid=$!
    until_true test -s out
    kill -INT "$pid"
    status=0
    wait "$pid" || status=$?
    exec 7>&-
    [ "$status" -eq 130 ]
}

# ---- asciicast ----

@test "--cast writes an asciicast" {
    ringtop --from "$RING" --cast ring.cast --size 60x14 --speed 0.01
    [ "$(head -1 ring.cast | json version)" -eq 2 ]
    [ "$(head -1 ring.cast | json width)" -eq 60 ]
    json -l <ring.cast >/dev/null
    [ "$(wc -l <ring.cast)" -gt 2 ]
    tail -n +2 ring.cast | while read -r line; do
        [[ $line = \[*,\"o\",\"*\"\] ]]
    done
    tail -1 ring.cast | grep -q 'END'
    ringtop --from "$RING" --cast plain.cast --color never
    run -1 grep -q '\[0;3[0-9]' plain.cast
}

@test "--cast FILE.svg writes a page that moves: each look of a row once" {
    ringtop --from "$RING" --cast ring.svg --size 60x14 --speed 0.01
    [[ $(head -1 ring.svg) = "<svg "* ]]
    [ "$(tail -1 ring.svg)" = "</svg>" ]
    [ "$(grep -o '<g[ >]' ring.svg | wc -l)" -eq \
        "$(grep -o '</g>' ring.svg | wc -l)" ]
    # Without animation the final texts are visible; the rest is hidden.
    [ "$(grep -v 'visibility="hidden"' ring.svg | grep -c '<text')" -le 14 ]
    grep -v 'visibility="hidden"' ring.svg | grep -q 'END'
    [ "$(grep -c '^<g style' ring.svg)" -gt 10 ]
    grep '^<g style' ring.svg | sed 's/.*name:\(k[0-9]*\)".*/@keyframes \1{/' |
        while read -r rule; do grep -qF "$rule" ring.svg; done
    [ -z "$(grep '^<g style' ring.svg | sed 's/name:k[0-9]*//' | sort | uniq -d)" ]
    ringtop --from "$RING" --cast again.svg --size 60x14 --speed 0.01
    cmp ring.svg again.svg
    ringtop --from "$RING" --cast plain.svg --color never
    run -1 grep -q '7ee787' plain.svg
}

# ---- help ----

@test "every option is in the man page, and the page is clean" {
    ringtop completion words >listed
    [ "$(wc -l <listed)" -ge 10 ]
    missing=
    while read -r option; do
        [[ $option != --* ]] ||
            grep -Eq "^\.It .*Fl .-${option#--}( |\$)" "$MAN" ||
            missing+=" $option"
    done <listed
    echo "missing:$missing"
    [ -z "$missing" ]
    command -v mandoc >/dev/null || skip "mandoc is not installed"
    run -0 mandoc -Tlint -W warning "$MAN"
}

@test "completion and help know the one command" {
    ringtop completion bash >c.bash
    bash -n c.bash
    grep -q -- '--from' c.bash
    run -0 ringtop -h
    [[ $output = *--read-only*--leave* ]]
    run -0 ringtop help
    [[ $output = *Examples:*"ringtop tiger --read-only"* ]]
    run -64 --separate-stderr ringtop --form x
    [[ $stderr = *'unknown option --form; did you mean "--from"?'* ]]
}

# ---- the terminal ----

@test "the live view starts, freezes, steps, and gives the terminal back" {
    on_terminal "'$RINGTOP' --from '$RING' --paused"
    until_true shows '\[PAUSED\]'
    until_true shows '0/30 nothing yet'
    press .
    until_true shows ' 1/30 op_begin: rank'
    press . .
    until_true shows ' 3/30 '
    press Space
    until_true shows '\[REPLAY x1/'
    press '>' '>'
    press Space
    until_true shows '\[PAUSED\]'
    press q
    terminal_is_restored status=0
}

@test "Ctrl-\\ gives the terminal back, too" {
    on_terminal "'$RINGTOP' --from '$RING' --paused"
    until_true shows '\[PAUSED\]'
    press "C-\\"
    terminal_is_restored status=130
}

@test "the live view survives every resize" {
    on_terminal "'$RINGTOP' --from '$RING' --speed 1000"
    until_true shows '\[END\]'
    until_true shows 'F10 quit'
    resize 40 10
    until_true shows '^ allreduce 64K  op 1 .*\[END\]$'
    resize 38 9
    until_true shows 'terminal too small (38x9)'
    resize 120 40
    until_true shows ' ringtop  allreduce 64K'
    [ "$(screen | wc -l)" -eq 40 ]
    until_true shows 'r2    3=   3=   3='
    press F10
    terminal_is_restored status=0
}

@test "pages, help, sorting, finding" {
    on_terminal "'$RINGTOP' --from '$RING' --speed 1000"
    until_true shows 'F10 quit'
    press Tab
    until_true shows 'ring: 0 chunks in flight ────────────────────'
    until_true shows 'Look for a chunk that does not move'
    press F1
    until_true shows 'keys: any key closes it'
    resize 60 20
    until_true shows 'sort ranks'
    press Escape
    until_true shows 'ring: 0 chunks'
    press '?'
    until_true shows 'ring: any key closes it'
    until_true shows 'arrows *the order of the ring'
    press Escape
    until_true shows 'ring: 0 chunks'
    press BTab F3 2 Enter
    until_true shows '^>   2 '
    press C-l F6
    until_true shows '^>   2 '
    press C-c
    terminal_is_restored status=130
}

@test "a live pipe: a lost rank is shown within a second, and keys still work" {
    mkfifo pipe
    on_terminal "'$RINGTOP' - <pipe"
    exec 7>pipe
    head -12 "$RING" >&7
    until_true shows '\[LIVE\]'
    press Space
    until_true shows '\[PAUSED\]'
    press Space
    until_true shows '\[LIVE\]'
    # At least one of them: on a busy machine a picture may be late.
    for peer in 2 1; do
        started=${EPOCHREALTIME/[.,]/}
        echo '{"kind":"lost","rank":0,"peer":'$peer',"time_ns":1}' >&7
        until_true shows "^    $peer LOST"
        until_true shows "rank 0 suspects rank $peer:"
        took=$(((${EPOCHREALTIME/[.,]/} - started) / 1000))
        [ "$took" -ge 1000 ] || break
    done
    [ "$took" -lt 1000 ]
    exec 7>&-
    until_true shows '\[END\]'
    press q
    terminal_is_restored status=0
}

@test "without a usable terminal there is text" {
    on_terminal "TERM=dumb '$RINGTOP' --from '$RING' --size 60x14"
    until_true shows 'status=0'
    until_true shows '\[END\]'
    on_terminal "true"
    run -0 env TERM=nonsense "$RINGTOP" --from "$RING"
}
