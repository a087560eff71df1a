#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# A rank that dies in the middle of a bench ends the run at once, with status 1
# and a message that names it. Ctrl-C prints the rows so far, status 130. After
# any end no process, socket file or shared segment is left.

load ../until.bash

setup_file() {
    bats_require_minimum_version 1.5.0
    COLLRUN=$(realpath "${COLLRUN:-build/collrun}")
    export COLLRUN
    export GRADWIRE_CALIBRATION=$BATS_FILE_TMPDIR/none.json
}

RANKS=4
PATIENCE=60 # seconds until a condition that never comes fails the test

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    traces | sort >before.txt
}

teardown() {
    [ -z "$supervisor" ] || kill -KILL "$supervisor" 2>kill.txt || true
}

now_ms() {
    echo $((${EPOCHREALTIME/./} / 1000))
}

# Possible remains of a run: shared segments, socket files, our names in the
# abstract namespace. Names contain the pid, so another run at the same time
# does not count.
traces() {
    find /dev/shm /tmp "${XDG_RUNTIME_DIR:-/tmp}" -maxdepth 1 \
        \( -type s -o -path '/dev/shm/*' \) -name '*gradwire*' 2>find.txt |
        sort -u
    [ -z "$supervisor" ] || grep "gradwire-$supervisor-" /proc/net/unix || true
}

# Zombies count as gone.
gone() {
    for pid in "$@"; do
        ! grep -qs '^State:[[:space:]][^ZX]' "/proc/$pid/status" || return 1
    done
}

measuring() {
    grep -q '"time_us":' rows.jsonl 2>grep.txt
}

# Starts a bench that would take minutes and waits until the first size is done.
# Sets $supervisor and $ranks, which are in order.
start_bench() {
    "$COLLRUN" bench allreduce -n "$RANKS" -b 4K -e 4M -f 2 --seconds 20s \
        "$@" >rows.jsonl 2>err.txt 3>&- &
    supervisor=$!
    until_true "$PATIENCE" begun
    children=$(cat "/proc/$supervisor/task/$supervisor/children")
    # shellcheck disable=SC2086
    set -- $children
    [ $# -eq "$RANKS" ]
    ranks=$children
}

# All ranks are there and have used some CPU time in calls.
begun() {
    read -r -a born <"/proc/$supervisor/task/$supervisor/children" || true
    [ "${#born[@]}" -eq "$RANKS" ] || return 1
    for pid in "${born[@]}"; do
        # utime and stime in ticks, the 14th and 15th field; the name before
        # may have blanks. Ranks that share a core mostly yield: stime.
        read -r utime stime < <(sed 's/.*) //' "/proc/$pid/stat" |
            cut -d ' ' -f 12,13)
        [ $((utime + stime)) -ge 2 ] || return 1
    done
}

nth_rank() {
    for pid in $ranks; do
        [ "$(cat "/proc/$pid/comm")" != "rank $1/$RANKS" ] || echo "$pid"
    done
}

# The supervisor has ended with status $1, $took_ms after $begin_ms.
ended() {
    status=0
    wait "$supervisor" || status=$?
    took_ms=$(($(now_ms) - begin_ms))
    echo "status $status after $took_ms ms; $(cat err.txt)" # when it fails
    [ "$status" -eq "$1" ]
}

# within SECONDS COMMAND...: the command, which sets $took_ms, takes less than
# SECONDS, ten times the usual on a quiet machine. `make check-calm` measures
# exactly.
within() {
    "${@:2}"
    echo "took $took_ms ms"
    [ "$took_ms" -lt $(($1 * 1000)) ]
}

# Traces of other tests on this machine come and go.
no_new_traces() {
    traces | sort | comm -13 before.txt - >new.txt
    [ ! -s new.txt ]
}

nothing_left() {
    # shellcheck disable=SC2086
    gone $ranks
    until_true "$PATIENCE" no_new_traces || { cat new.txt; return 1; }
}

kill_a_rank() {
    start_bench --wire "$1" -o jsonl
    victim=$(nth_rank 2)
    begin_ms=$(now_ms)
    kill -KILL "$victim"
    ended 1
    nothing_left
    # In an op of the measurement, or in one between two of them.
    grep -qE "rank 2 \(pid $victim\) was killed by signal 9 \(Killed\); rank [013]: (allreduce|broadcast|barrier) op" err.txt
    tail -n 1 rows.jsonl | grep -q '"status":1,"code":"GW_ELOST"'
}

@test "shm: a killed rank ends the run at once" {
    within 10 kill_a_rank shm
}

@test "ipc: a killed rank ends the run at once" {
    within 10 kill_a_rank ipc
}

@test "tcp: a killed rank ends the run at once" {
    within 10 kill_a_rank tcp
}

kill_rank_0() {
    start_bench -o jsonl
    victim=$(nth_rank 0)
    begin_ms=$(now_ms)
    kill -USR1 "$victim"
    ended 1
    nothing_left
    grep -q "rank 0 (pid $victim) was killed by signal 10" err.txt
}

@test "a killed rank 0, the rendezvous of all ranks, also ends the run at once" {
    within 10 kill_rank_0
}

stop_a_rank() {
    start_bench --timeout 3s -o jsonl
    victim=$(nth_rank 1)
    begin_ms=$(now_ms)
    kill -STOP "$victim"
    ended 124
    nothing_left
    grep -q 'rank [023]: allreduce.* waits for rank 1' err.txt
}

@test "a stopped rank: the others name it, and end with status 124" {
    within 20 stop_a_rank
}

interrupt_one() { # format
    start_bench_of_many "$1"
    begin_ms=$(now_ms)
    kill -INT "$supervisor"
    ended 130
    nothing_left
    grep -q interrupted err.txt
    if [ "$1" = table ]; then
        grep -Fxq '# partial: interrupted' rows.jsonl
    else
        grep -q '"partial":true' rows.jsonl
    fi
}

@test "Ctrl-C prints the results so far, marked partial, with status 130" {
    for format in json jsonl table; do
        within 10 interrupt_one "$format"
    done
}

# The first rows come soon.
start_bench_of_many() {
    "$COLLRUN" bench allreduce -n "$RANKS" -b 4K -e 4G -f 2 --seconds 50ms \
        -o "$1" >rows.jsonl 2>err.txt 3>&- &
    supervisor=$!
    until_true "$PATIENCE" begun
    [ "$1" != jsonl ] || until_true "$PATIENCE" measuring
    ranks=$(cat "/proc/$supervisor/task/$supervisor/children")
}

interrupt_twice() {
    start_bench -o jsonl
    # shellcheck disable=SC2086
    kill -STOP $ranks # nobody can answer
    begin_ms=$(now_ms)
    kill -INT "$supervisor"
    kill -TERM "$supervisor"
    ended 130
    nothing_left
}

@test "a second Ctrl-C ends the run at once" {
    within 4 interrupt_twice
}

@test "ranks do not outlive a killed supervisor" {
    start_bench -o jsonl
    kill -KILL "$supervisor"
    wait "$supervisor" || true
    # shellcheck disable=SC2086
    until_true "$PATIENCE" gone $ranks
    nothing_left
}
