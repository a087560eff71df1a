#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# ringtop attached to a run of real processes. tmux presses the keys and reads
# the screen. The keys kill, pause, resume and add nodes. The screen shows the
# kill, every size, and the end of the run. Afterwards the terminal is as
# before, and the run still runs.

setup_file() {
    bats_require_minimum_version 1.5.0
    COLLRUN=$(realpath "${COLLRUN:-build/collrun}")
    RINGTOP=$(realpath "$(dirname "$COLLRUN")/ringtop")
    RINGCTL=$(realpath "$(dirname "$COLLRUN")/ringctl")
    export COLLRUN RINGTOP RINGCTL
    export GRADWIRE_CALIBRATION=$BATS_FILE_TMPDIR/none.json
    export LC_ALL=C.UTF-8
}

setup() {
    load terminal
    cd "$BATS_TEST_TMPDIR" || return 1
    export GRADWIRE_RUNS=$BATS_TEST_TMPDIR/runs
}

teardown() {
    close_terminal
    [ ! -d runs ] || "$RINGCTL" down 2>&1 || true
}

# up: a ring of four that is slow enough for a person to follow, called tv.
up() {
    "$RINGCTL" up 4 --name tv ops --bytes 64K --pace 30ms >/dev/null 3>&- 4>&-
}

ctl() {
    "$RINGCTL" --run tv "$@"
}

# watch OPTION...: ringtop in a terminal, attached to that ring.
watch() {
    on_terminal "'$RINGTOP' --run tv $*"
    until_true shows '\[LIVE\]'
}

is_paused() {
    ctl status | grep -q "^   $1  worker      paused"
}

@test "kill, pause, resume and add by keys, at every size; the run stays" {
    up
    watch
    until_true shows '^    3 \(busy\|idle\|late\)'
    until_true shows 'attached in epoch 1: 4 members'
    until_true shows ' k kill  p pause  a add'

    press k
    until_true shows 'kill which node? \[3\]_  (Enter: yes, Esc: no)'
    press 9 Escape
    until_true shows 'F1 keys'
    press k 2
    until_true shows 'kill which node? 2_'
    started=${EPOCHREALTIME/[.,]/}
    press Enter
    until_true shows '^    2 DEAD'
    took=$(((${EPOCHREALTIME/[.,]/} - started) / 1000))
    echo "# the kill was on the screen after $took ms" >&3
    until_true shows 'node 2 was killed: epoch 2, ring 0 1 3'
    until_true shows 'without node 2'

    resize 40 10
    until_true shows '^ allreduce 64K  op .*\[LIVE\]$'
    [ "$(screen | wc -l)" -eq 10 ]
    resize 80 24
    until_true shows '^ ringtop  allreduce 64K  op .*\[LIVE\]$'
    until_true shows 'n2 x  -    -    -'

    press p 3 Enter
    until_true shows 'node 3 was paused'
    until_true shows '^    3 paused'
    until_true is_paused 3
    press p 3 Enter
    until_true shows 'node 3 was resumed'

    press k 7 7 Enter
    until_true shows 'node 77 does not exist'
    press a
    until_true shows 'add a node?'
    press Enter
    until_true shows '^    4 \(busy\|idle\|late\)'

    press q
    terminal_is_restored status=0
    ctl wait 'alive==4' --timeout 60s >/dev/null
}

has_named_ops() {
    [ "$(grep -c '^ allreduce 64K  op .*\[LIVE\]$' "$2")" -ge "$1" ]
}

@test "--read-only only shows, two views work at once, and --leave leaves at the end" {
    up
    watch --read-only --leave
    press k
    until_true shows 'read-only: no kill, pause or add'
    press 2 Enter a Enter p
    # The current op at the time of attaching has no name yet.
    "$RINGTOP" --run tv --batch --every 200ms --size 60x14 >out 3>&- 4>&- &
    looker=$!
    until_true has_named_ops 2 out
    kill "$looker"
    wait "$looker" || true
    [[ $(ctl status) = *", 4 alive"* ]]
    "$RINGTOP" --run tv --leave --batch --every 100ms >end &
    pid=$!
    until_true test -s end
    ctl down >/dev/null
    terminal_is_restored status=0
    wait "$pid"
    grep -q '\[END\]$' end
}

@test "the last state of an ended run is shown until a key quits" {
    up
    watch
    until_true shows '^    3 '
    ctl down >/dev/null
    until_true shows '\[END\]$'
    until_true shows '^    3 '
    press k 2 Enter
    until_true shows 'run tv has ended'
    press q
    terminal_is_restored status=0
    run -69 --separate-stderr "$RINGTOP" --run tv
    # shellcheck disable=SC2154 # set by run --separate-stderr
    [ "$stderr" = "ringtop: run tv has ended; start a run with: ringctl up 4" ]
    [ -z "$output" ]
}

@test "without a run: a message, and status 69" {
    run -69 --separate-stderr "$RINGTOP"
    echo "$stderr"
    [[ $stderr = "ringtop: no run found"* ]]
    run -69 --separate-stderr "$RINGTOP" --run nobody -o json
    [[ $stderr = "ringtop: "*nobody* ]]
    run -64 --separate-stderr "$RINGTOP" --run tv --from x
    [[ $stderr = *"either --from x or --run tv"* ]]
}
