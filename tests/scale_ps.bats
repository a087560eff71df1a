#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# A parameter server of many real processes (make check-scale): 64 servers with
# 128 slots, and 128 workers. Servers die one after another, and after each
# death all stored values must be the acknowledged ones (tests/fault/pskills.h).

setup() {
    bats_require_minimum_version 1.5.0
    PSKILLS=$(realpath "${B:-build}/pskills_scale")
    export TMPDIR=$BATS_TEST_TMPDIR
}

# It leaves no files.
teardown() {
    [ -z "$(ls "$BATS_TEST_TMPDIR")" ]
}

@test "64 servers and 128 workers survive five kills with the right sums" {
    run -0 "$PSKILLS" --kills 5 1
    grep -E '^[0-9]+ pushes, .* all as acknowledged; ' <<<"$output"
}
