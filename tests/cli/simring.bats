#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# ringctl sim: clusters in virtual time.

setup_file() {
    bats_require_minimum_version 1.5.0
    R=$(realpath "${B:-build}")/ringctl
    export R
}

@test "sim: the same words give the same numbers, another seed others" {
    run -0 "$R" sim ring -n 5 --seed 7
    first=$output
    run -0 "$R" sim ring -n 5 --seed 7
    [ "$output" = "$first" ]
    run -0 "$R" sim ring -n 5 --seed 8
    [ "$output" != "$first" ]
}

@test "sim: a member that crashes is left out, and the others go on" {
    run -0 "$R" sim ring -n 4 --faults 'at 100ms crash 2' -o jsonl
    [[ $output == *'"views":2,'*'"violation":null'* ]]
}

@test "sim: without the check of the epoch somebody counts twice; with it nobody" {
    faults=$BATS_TEST_TMPDIR/faults
    run -1 "$R" sim ring --seeds 1..2000 --without epoch-check \
        --schedule "$faults" --shrink
    [[ $output =~ seed\ ([0-9]+):.*(counts\ [0-9]\ times|a\ wrong\ sum) ]]
    [ "$(wc -l <"$faults")" -le 8 ]
    run -0 "$R" sim ring --seed "${BASH_REMATCH[1]}"
}

@test "sim: what cannot be is refused, with the place" {
    run -64 "$R" sim wing
    [[ $output == *'no world "wing"; there is ring'* ]]
    run -64 "$R" sim ring -n 99
    run -64 "$R" sim ring --without gravity
    [[ $output == *epoch-check* ]]
    run -64 "$R" sim ring --seeds 3..1
    run -65 "$R" sim ring --faults 'at 3ms crash'
    [[ $output == *--faults:1:13* ]]
    run -65 "$R" sim ring -n 3 --faults 'at 3ms crash 9'
}
