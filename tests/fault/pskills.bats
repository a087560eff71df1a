#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# The counter oracle of the parameter server, in short: tests/fault/pskills.sh
# has a thousand faults. Servers that count a push twice show that the oracle
# can fail.

setup_file() {
    bats_require_minimum_version 1.5.0
    PSKILLS=$(realpath "${B:-build}/pskills")
    BLOWS=${SLOW:+20}
    BLOWS=${BLOWS:-10}
    export PSKILLS BLOWS
}

setup() {
    export TMPDIR=$BATS_TEST_TMPDIR
}

# It leaves no files.
teardown() {
    [ -z "$(ls "$BATS_TEST_TMPDIR")" ]
}

@test "kills: the stored values are the acknowledged ones" {
    run -0 "$PSKILLS" "$BLOWS" 1
    grep -Fx "pskills: $BLOWS blows, seed 1, shm" <<<"$output"
    grep -E '^[0-9]+ pushes, .* all as acknowledged; ' <<<"$output"
}

@test "blows, and workers send by an aggregator that one of them hosts" {
    run -0 "$PSKILLS" --aggregate "$BLOWS" 1
    grep -E '^[0-9]+ pushes, .* all as acknowledged; ' <<<"$output"
}

@test "the check finds a server that counts a repeated push twice" {
    run -1 "$PSKILLS" --no-dedupe 100 1
    grep -E '(wrong sum: .* is stored|pulled .* where .* were acknowledged)' \
        <<<"$output"
}

@test "without a number of kills and a seed it prints its usage" {
    run -64 "$PSKILLS" 20
    run -64 "$PSKILLS" --what 20 1
}
