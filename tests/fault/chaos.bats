#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Full disks, wrong clocks, and both among other faults, for a few seconds.
# tests/fault/chaos.sh runs for minutes.

setup() {
    bats_require_minimum_version 1.5.0
    RINGCTL=$(realpath "${RINGCTL:-${B:-build}/ringctl}")
    cd "$BATS_TEST_TMPDIR" || return 1
    export GRADWIRE_RUNS=$BATS_TEST_TMPDIR/runs
}

teardown() {
    for run in runs/*/endpoint; do
        [ ! -e "$run" ] || "$RINGCTL" down --run "$(basename "$(dirname "$run")")"
    done
}

ringctl() {
    "$RINGCTL" "$@" --timeout 120s
}

@test "a controller with a full disk ends, and comes back when there is space" {
    ringctl up 4 --controllers 3 ops --bytes 4K --pace 200us
    run -0 ringctl disk c1 full
    [[ $output = *'controller 1'*'full disk'* ]]
    ringctl -c 'kill 3; wait controllers==2 && alive==3'
    run -0 ringctl status
    [[ $output = *dead*'cannot be written'* ]]
    ringctl -c 'restart controller 1; wait controllers==3; restart 3
        wait alive==4; expect lost==0 && doubled==0'
}

@test "the fault disk names a controller, and is full or free" {
    ringctl up 2 ops --bytes 4K --pace 200us
    run -64 ringctl disk c0 half
    run ! ringctl disk 1 full
    [[ $output = *'only controllers write'* ]]
}

@test "clocks that run fast and slow lose no member" {
    ringctl up 4 --controllers 3 ops --bytes 4K --pace 200us
    ringctl -c 'drift 1 0.5; drift 2 2; drift c0 0.8; wait op>=200
        kill 3; wait alive==3; restart 3; wait alive==4
        drift 1 off; drift 2 off; drift c0 off
        expect lost==0 && doubled==0'
    run -64 ringctl drift 1 0
    [[ $output = *'0.1 to 10'* ]]
    run -64 ringctl drift 1 fast
}

# chaos FILE: a few seconds of faults on a ring; writes their list to FILE.
chaos() {
    ringctl up 5 --name chaos --controllers 3 ops --bytes 4K --pace 200us
    "$RINGCTL" --run chaos chaos --seed 7 --rate 4/s --for 4s >"$1"
    ringctl --run chaos down
}

@test "the same seed has the same order of faults, and the total is printed" {
    chaos one
    chaos two
    for file in one two; do
        grep -E '^ *[0-9.]+ ' "$file" | awk '{ print $2, $3 }' | head -8 \
            >"$file.blows"
        grep -Ex '# lost:? 0' "$file"
        grep -Ex '# doubled:? 0' "$file"
        grep -E '^# blows' "$file"
        grep -E '^# recoveries' "$file"
    done
    # The number of faults within the time varies.
    least=$(wc -l one.blows two.blows | sort -n | awk 'NR == 1 { print $1 }')
    [ "$least" -ge 4 ]
    cmp <(head -n "$least" one.blows) <(head -n "$least" two.blows)
}
