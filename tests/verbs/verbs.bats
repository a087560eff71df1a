#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# check.sh boots machines and has its own make target. If it cannot run, it
# prints one line, succeeds, and leaves no files.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME" || return 1
    export TMPDIR=$BATS_TEST_TMPDIR/tmp
    mkdir "$TMPDIR"
}

@test "without QEMU check-verbs is skipped" {
    mkdir "$BATS_TEST_TMPDIR/bin"
    for program in sh dirname uname env apt-get; do
        ln -s "$(command -v "$program" || echo /bin/true)" "$BATS_TEST_TMPDIR/bin/"
    done
    PATH=$BATS_TEST_TMPDIR/bin run -0 ./check.sh "$BATS_TEST_TMPDIR"
    [ "$output" = "check-verbs: skipped, there is no qemu-system-x86_64" ] ||
        [[ $output = *"the machine that it boots is an x86-64" ]]
}

@test "where its packages cannot be had check-verbs is skipped" {
    export KERNEL=linux-image-of-nowhere
    run -0 ./check.sh "$BATS_TEST_TMPDIR/build"
    [[ ${lines[-1]} = "check-verbs: skipped, "* ]]
    [ -z "$(ls "$TMPDIR")" ]
    [ ! -e "$BATS_TEST_TMPDIR/build/verbs-kernel/version" ]
}
