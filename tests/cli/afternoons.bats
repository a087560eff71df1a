#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# The afternoons of a researcher and of an engineer, from the first idea to the
# figure, and from a program to a job that survives a death (afternoons.sh). lab.bats
# has the student's.

setup() {
    BUILD=$(realpath "${B:-build}")
    ROOT=$PWD
    export GRADWIRE_CALIBRATION=$BATS_TEST_TMPDIR/costs.json
    export FLAGS="-I $ROOT/lib/include -L $BUILD -lgradwire -Wl,-rpath,$BUILD ${SAN:-}"
    cd "$BATS_TEST_TMPDIR" || return 1
}

@test "a researcher's afternoon: an own plan is verified, priced, simulated, measured and drawn" {
    "$ROOT/tests/cli/afternoons.sh" "$BUILD" "$ROOT/labs" researcher
}

@test "an engineer's afternoon: an own program on ranks, under mpirun, and elastic with a kill" {
    "$ROOT/tests/cli/afternoons.sh" "$BUILD" "$ROOT/labs" engineer
}
