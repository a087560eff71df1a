#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Large rings of real processes (make check-scale): SCALE members (default 128)
# start, lose members one by one and a rack at once, and take them in again. All
# sums are checked by the members (`ringctl up N ops`).

setup() {
    bats_require_minimum_version 1.5.0
    load until
    RINGCTL=$(realpath "${RINGCTL:-${B:-build}/ringctl}")
    export RINGCTL
    cd "$BATS_TEST_TMPDIR" || return 1
    export GRADWIRE_RUNS=$BATS_TEST_TMPDIR/runs
    N=${SCALE:-128}
    KILLS=${KILLS:-20}
}

teardown() {
    "$RINGCTL" --run scale down >/dev/null 2>&1 || true
}

# field NAME: a number of the status
field() {
    "$RINGCTL" --run scale status -o json |
        sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" | head -n 1
}

# The ring goes on for two more steps.
goes_on() {
    local step
    step=$(field step)
    "$RINGCTL" --timeout 120s --run scale wait "step>=$((step + 2))"
}

@test "a large ring starts, and survives kill after kill with restarts" {
    "$RINGCTL" --timeout 120s --run scale up "$N" ops --bytes 64K
    for ((i = 0; i < KILLS; i++)); do
        node=$((i * 7 % N))
        "$RINGCTL" --timeout 120s --run scale kill "$node"
        goes_on
        "$RINGCTL" --timeout 120s --run scale restart "$node"
    done
    goes_on
    [ "$(field lost)" -eq 0 ]
    [ "$(field doubled)" -eq 0 ]
}

@test "a large ring survives the death of a rack of 8" {
    "$RINGCTL" --timeout 120s --run scale up "$N" ops --bytes 64K
    goes_on
    for node in 8 9 10 11 12 13 14 15; do
        "$RINGCTL" --timeout 120s --run scale kill "$node" 3>&- &
    done
    wait
    goes_on
    [ "$(field lost)" -eq 0 ]
    [ "$(field doubled)" -eq 0 ]
}
