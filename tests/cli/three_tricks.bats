#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Project Adam's three tricks as psnode shows them: pointers instead of copies,
# coalesced messages, lock-free writes. The counts follow formulas.

setup_file() {
    bats_require_minimum_version 1.5.0
    BUILD=$(realpath "${B:-build}")
    export BUILD
    unset GRADWIRE_RUN GRADWIRE_RUNS
    # shellcheck disable=SC2046
    ${CC:-cc} -o "$BATS_FILE_TMPDIR/jsoncheck" tests/cli/jsoncheck.c \
        $(pkg-config --cflags --libs jansson)
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
}

psnode() {
    timeout 300 "$BUILD/psnode" "$@" </dev/null 3>&-
}

# The value at a path of a JSON document: json KEY... < document
json() {
    "$BATS_FILE_TMPDIR/jsoncheck" "$@"
}

# is FILE KEY... NUMBER: a message that was repeated is sent and saved again.
bench_is() {
    again=$(json rows 0 retries <"$1")
    [ "$(json rows 0 messages_sent <"$1")" = $(($2 + again)) ]
    [ "$again" -gt 0 ] || [ "$(json rows 0 messages_saved <"$1")" = "$3" ]
}

@test "bench: a request is one message per server, or one per slot" {
    n=10 slots=64
    for servers in 1 3; do
        push="bench push -k 5000 -s $servers --rounds $n -o json"
        # shellcheck disable=SC2086 # words
        psnode $push >with.json
        # shellcheck disable=SC2086
        psnode $push --set no-bundle=1 >without.json
        bench_is with.json $((n * servers)) $((n * (slots - servers)))
        bench_is without.json $((n * slots)) 0
    done
}

@test "bench: bytes in place are those of the values, and none if copied" {
    push="bench push -k 50000 -s 2 --rounds 10 -o json"
    # shellcheck disable=SC2086 # words
    psnode $push >place.json
    # shellcheck disable=SC2086
    psnode $push --set no-place=1 >copy.json
    again=$(json rows 0 retries <place.json)
    bytes=$((10 * 50000 * 4))
    [ "$(json rows 0 bytes_in_place <copy.json)" = 0 ]
    [ "$again" -gt 0 ] ||
        [ "$(json rows 0 bytes_in_place <place.json)" = $bytes ]
}

@test "train: a unit is a message to the clock, and two per table and server" {
    servers=2 tables=2
    psnode train mf -s $servers -n 2 -E 2 --set ratings=20000 -o json >mf.json
    units=$(($(json rows 0 units <mf.json) + $(json rows 1 units <mf.json)))
    sent=$(($(json messages_sent <mf.json) - $(json retries <mf.json)))
    formula=$((units * (1 + 2 * tables * servers)))
    [ "$units" = 40 ]
    # Beside the units: the plan, the end of it, the model that is judged.
    [ "$sent" -ge $formula ]
    [ "$sent" -le $((formula * 5 / 4)) ]
    [ "$(json messages_saved <mf.json)" -gt "$sent" ]
    [ "$(json server_messages_sent <mf.json)" -gt 0 ]
}
