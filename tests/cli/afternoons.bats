#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# The afternoons of a student with four labs, of a researcher from the first idea to
# the figure, and of an engineer from a program to a job that survives a death
# (afternoons.sh). tests/debian/check.sh plays them with the installed packages.

setup() {
    BUILD=$(realpath "${B:-build}")
    ROOT=$PWD
    export GRADWIRE_CALIBRATION=$BATS_TEST_TMPDIR/costs.json
    export FLAGS="-I $ROOT/lib/include -L $BUILD -lgradwire -Wl,-rpath,$BUILD ${SAN:-}"
    cd "$BATS_TEST_TMPDIR" || return 1
}

@test "a student's afternoon: labs 00, 01, 05 and 11, predicted, run, failed and solved" {
    GW_BIN=$BUILD "$ROOT/tests/cli/afternoons.sh" "$BUILD" "$ROOT/labs" student
}

@test "a researcher's afternoon: an own plan is verified, priced, simulated, measured and drawn" {
    "$ROOT/tests/cli/afternoons.sh" "$BUILD" "$ROOT/labs" researcher
}

@test "an engineer's afternoon: an own program on ranks, under mpirun, and elastic with a kill" {
    "$ROOT/tests/cli/afternoons.sh" "$BUILD" "$ROOT/labs" engineer
}
