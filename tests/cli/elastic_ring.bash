# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# For tests of `ringctl up`: a folder per test, whose runs end with it, and facts
# of a status.

setup_file() {
    bats_require_minimum_version 1.5.0
    BUILD=$(realpath "${B:-build}")
    FORMATS=$PWD/tests/formats
    export BUILD FORMATS
    unset GRADWIRE_RUN GRADWIRE_RUNS GRADWIRE_DATA
    # shellcheck disable=SC2046
    ${CC:-cc} -o "$BATS_FILE_TMPDIR/jsoncheck" tests/cli/jsoncheck.c \
        $(pkg-config --cflags --libs jansson)
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    export TMPDIR=$PWD
}

teardown() {
    [ ! -d runs ] || ringctl down --all >/dev/null
}

ringctl() {
    timeout 300 "$BUILD/ringctl" "$@" </dev/null 3>&-
}

# fact KEY VALUE: of status.json
fact() {
    [ "$("$BATS_FILE_TMPDIR/jsoncheck" "$1" <status.json)" = "$2" ] || {
        cat status.json
        false
    }
}
