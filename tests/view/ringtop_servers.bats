#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# ringtop attached to a run of parameter servers: real processes that serve,
# train and die. The screen shows servers, slots and clocks, and a server that
# is killed by keys, whose slots others take over. The same again from a
# recording.

setup_file() {
    bats_require_minimum_version 1.5.0
    COLLRUN=$(realpath "${COLLRUN:-build/collrun}")
    RINGTOP=$(realpath "$(dirname "$COLLRUN")/ringtop")
    RINGCTL=$(realpath "$(dirname "$COLLRUN")/ringctl")
    export RINGTOP RINGCTL LC_ALL=C.UTF-8
    export GRADWIRE_DATA=$BATS_FILE_TMPDIR
    # Two linearly separable classes, except for every tenth row.
    awk 'BEGIN {
        srand(1)
        for (i = 0; i < 3000; i++) {
            x = 2 * rand() - 1
            y = 2 * rand() - 1
            above = x + y > 0
            print (i % 10 ? above : !above) ? 1 : -1, "1:" x, "2:" y
        }
    }' >"$BATS_FILE_TMPDIR/rows.libsvm"
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

ctl() {
    "$RINGCTL" --run tv --timeout 120s "$@"
}

# up OPTION...: three servers and two workers, called tv, which train for long
# enough.
up() {
    "$RINGCTL" --timeout 120s up --name tv --servers 3 --workers 2 --mode ssp:2 \
        --slots 12 "$@" train lr rows.libsvm --batch 30 --parts 4 \
        --epochs 1000 --pace 2ms >/dev/null 3>&- 4>&-
}

batch() {
    "$RINGTOP" --run tv --batch -n 1 --every 300ms "$@"
}

# On a busy machine the first picture may lack some nodes.
picture_is_whole() {
    batch >out
    grep -Eq '^ ringtop  lr ssp:2  3s 2w  epoch [0-9]+  data [0-9]+/1000 batch ' out &&
        [ "$(grep -Ec '^     s[0-2] alive    4/4/0 .* yes' out)" -eq 3 ] &&
        [ "$(grep -Ec '^     w[01] +[0-9]+ .* e[0-9]+ b[0-9]+ p[0-3]/4' out)" -eq 2 ] &&
        grep -q 'staleness of [1-9][0-9]* items' out
}

@test "servers, slots and clocks of a live run, at every size" {
    up --replicas 2
    ctl wait 'step>=20' >/dev/null
    until_true picture_is_whole || { cat out; return 1; }
    cat out
    grep -q ' 12 slots: all served; P primary, s in sync, l learner ' out
    # Each slot has one primary and one in sync.
    for server in 0 1 2; do
        row=$(grep "^  s$server [Ps.]*\$" out)
        primaries=${row//[^P]/} secondaries=${row//[^s]/}
        [ ${#primaries} -eq 4 ]
        [ ${#secondaries} -eq 5 ] # with that of its name
    done
    for page in overview slots clocks events failover loss ring chunks; do
        for size in 40x10 80x24 200x50; do
            batch --page "$page" --size "$size" >out
            [ "$(wc -L <out)" -le "${size%x*}" ]
            [ "$(wc -l <out)" -gt 2 ]
        done
    done
    batch --ascii --page clocks >ascii
    run -1 env LC_ALL=C grep '[^ -~]' ascii
}

@test "a server is killed by keys: it is DEAD, and others serve its slots" {
    up --replicas 2
    ctl record >/dev/null
    on_terminal "'$RINGTOP' --run tv"
    until_true shows '\[LIVE\]$'
    until_true shows '^     s1 alive    4/4/0 '
    press k s 1
    until_true shows 'kill which worker, or server (s0)? s1_'
    press Enter
    until_true shows '^     s1 DEAD     0/0/0 '
    until_true shows ' 12 slots: all served'
    until_true shows '^  s1 \.\.\.\.\.\.\.\.\.\.\.\.$'
    until_true shows 'server 1 is declared dead'
    until_true shows 'without server 1 after'
    press BTab BTab
    until_true shows '^ server 1 (exit)'
    until_true shows '   served     +[0-9.]* [mun]\?s '
    press q
    terminal_is_restored status=0
    ctl record off >/dev/null
    ctl down >/dev/null

    recording=runs/tv/events.jsonl
    "$RINGTOP" --from "$recording" --batch >out
    cat out
    grep -q '^     s1 DEAD     0/0/0 ' out
    grep -q '^     s0 alive    6/6/0 ' out
    grep -q ' 12 slots: all served' out
    grep -Eq '^     w[01] +[0-9]+ ' out
    "$RINGTOP" --from "$recording" -o json >out
    grep -Eq '"slots": ?12' out
    grep -Eq '"slots_lost": ?0' out
    "$RINGTOP" --from "$recording" --batch --page failover >out
    cat out
    grep -q '^ server 1$' out
    for stage in noticed confirmed view resumed; do
        grep -q "^   $stage " out
    done
}

@test "the only replica dies: lost slots are shown as an alarm" {
    up --replicas 1
    ctl wait 'step>=5' >/dev/null
    ctl kill server 2 >/dev/null
    lost_is_seen() {
        batch >out
        grep -q '^ ringtop  4 SLOTS LOST ' out
    }
    until_true lost_is_seen
    cat out
    grep -q ' 12 slots: 4 LOST' out
    [ "$(grep -Ec '^  s[0-2] .*!.*!.*!.*!' out)" -eq 3 ]
}
