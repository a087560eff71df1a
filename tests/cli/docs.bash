# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# What the tests of README and of the manual pages share: a place that looks like
# the checkout, and examples (examples.awk tells how they are found).

setup_file() {
    cd "$BATS_TEST_DIRNAME/../.." || return 1
    ROOT=$PWD
    BUILD=$(realpath "${B:-build}")
    export ROOT BUILD
    export GRADWIRE_CALIBRATION=$BATS_FILE_TMPDIR/costs.json
}

# A place that looks like the checkout, where examples may write.
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    for name in cmd lib labs man tests Makefile README.md .ci; do
        ln -s "$ROOT/$name" .
    done
    ln -s "$BUILD" build
    PATH=$BUILD:$PATH
    # Sanitizers want to be linked into programs that load the library.
    if [ -n "${SAN:-}" ]; then
        mkdir bin
        printf '#!/bin/sh\nexec %s %s "$@"\n' "$(command -v cc)" "$SAN" >bin/cc
        chmod +x bin/cc
        PATH=$PWD/bin:$PATH
    fi
}

# A command that failed may have left a run that goes on.
teardown() {
    build/ringctl down --all >/dev/null 2>&1 || true
}

# examples FILE: its examples, in ./examples.
examples() {
    rm -rf examples
    mkdir examples
    awk -v dir=examples -f "$ROOT/tests/cli/examples.awk" "$ROOT/$1"
}

# run_commands FILE: `make check` is what runs this, so it is left out.
# shellcheck disable=SC2154 # of bats
run_commands() {
    examples "$1"
    grep -v '^make check' examples/commands >script || true
    run env -u MAKEFLAGS -u MAKELEVEL bash -eux script
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
