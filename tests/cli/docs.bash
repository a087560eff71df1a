# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Shared by the tests of README and of the manual pages: a directory that looks
# like the checkout, and the examples (see examples.awk for their forms).

setup_file() {
    cd "$BATS_TEST_DIRNAME/../.." || return 1
    ROOT=$PWD
    BUILD=$(realpath "${B:-build}")
    export ROOT BUILD
    export GRADWIRE_CALIBRATION=$BATS_FILE_TMPDIR/costs.json
}

# A directory that looks like the checkout, in which examples may write.
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    for name in cmd lib labs man tests Makefile README.md .ci; do
        ln -s "$ROOT/$name" .
    done
    ln -s "$BUILD" build
    PATH=$BUILD:$PATH
    # Sanitizers must be linked into programs that load the library.
    if [ -n "${SAN:-}" ]; then
        mkdir bin
        printf '#!/bin/sh\nexec %s %s "$@"\n' "$(command -v cc)" "$SAN" >bin/cc
        chmod +x bin/cc
        PATH=$PWD/bin:$PATH
    fi
}

# Ends the runs that examples leave: a ring computes as fast as it can.
end_runs() {
    build/ringctl down --all >/dev/null 2>&1 || true
}

# A failed command may have left a run.
teardown() {
    end_runs
}

# examples FILE: its examples, in ./examples.
examples() {
    rm -rf examples
    mkdir examples
    awk -v dir=examples -f "$ROOT/tests/cli/examples.awk" "$ROOT/$1"
}

# run_commands FILE: without `make check`, which runs this test.
# shellcheck disable=SC2154 # of bats
run_commands() {
    examples "$1"
    grep -v '^make check' examples/commands >script || true
    run env -u MAKEFLAGS -u MAKELEVEL bash -eux script
    end_runs
    echo "$1: $output"
    [ "$status" -eq 0 ]
}

# ideas: a line "IDEA|FILE|LABS|COMMAND|..." for each idea of gradwire-ideas(7).
ideas() {
    awk '/^\.It [a-zA-Z]/ { idea = substr($0, 5) }
        /^\.Bd/ { file = commands = labs = ""; inside = 1; next }
        /^\.Ed/ { print idea "|" file "|" labs commands; inside = 0 }
        !inside { next }
        file == "" { file = $0; next }
        /^labs? [0-9]/ { sub(/^labs? /, ""); gsub(/,/, ""); labs = $0; next }
        { commands = commands "|" $0 }' "$ROOT/man/gradwire-ideas.7" >ideas
    [ "$(wc -l <ideas)" -ge 74 ]
}
