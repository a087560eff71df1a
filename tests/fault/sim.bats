#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# The simulated ring finds a rule that is broken on purpose: an op table that
# accepts data of an earlier view. `make sim` tests rings that keep the rules,
# with many more seeds.

setup_file() {
    bats_require_minimum_version 1.5.0
    SIM=$(realpath "${B:-build}/sim")
    export SIM
}

# Seed 25, the first that fails, makes no progress.
@test "without the check of the epoch a sum goes wrong, and the oracle sees it" {
    run -1 "$SIM/ring" --without epoch-check --seeds 116..2000
    grep -E 'seed [0-9]+ fails: .* (a wrong sum|counts [0-9]+ times)' \
        <<<"$output"
}

@test "a failing seed prints the command to repeat it, and the few faults that matter" {
    run -1 "$SIM/ring" --without epoch-check --seeds 1..2000
    seed=$(sed -n 's/^repeat with: .* --seed //p' <<<"$output")
    faults=$(sed -n 's/^\([0-9]*\) of its .* faults suffice.*/\1/p' \
        <<<"$output")
    [ "$faults" -le 8 ]
    run -1 "$SIM/ring" --without epoch-check --seed "$seed"
    grep "^ring: seed $seed fails: " <<<"$output"
    run -0 "$SIM/ring" --seed "$seed"
}

@test "a seed is a schedule: the same again" {
    run -0 "$SIM/ring" --seeds 40..60
    first=$output
    run -0 "$SIM/ring" --seeds 40..60
    [ "$output" = "$first" ]
    run -0 "$SIM/ring" --seeds 41..61
    [ "${output##*; digest }" != "${first##*; digest }" ]
}

@test "an invalid range of seeds is refused" {
    run -64 "$SIM/ring" --seeds 9..3
    run -64 "$SIM/ring" --seeds
    run -64 "$SIM/ring" --what 3
}

@test "a server without deduplication counts a push twice" {
    run -1 "$SIM/ps" --broken=dedupe --seeds 1..100
    grep -E 'seed [0-9]+ fails: .* (were acknowledged or seen|counted)' \
        <<<"$output"
}

@test "a primary that serves without a lease is stale, and the oracle sees it" {
    run -1 "$SIM/ps" --broken=fencing --seeds 1..3000
    grep -E 'seed [0-9]+ fails: .* were acknowledged or seen' <<<"$output"
}

@test "the simulated parameter server: a seed is a schedule" {
    run -0 "$SIM/ps" --seeds 40..60
    first=$output
    run -0 "$SIM/ps" --seeds 40..60
    [ "$output" = "$first" ]
}

# Stand-ins for the simulations: "$1" is the effect of that of the ring with
# "--seeds FIRST..LAST".
stand_ins() {
    mkdir -p "$BATS_TEST_TMPDIR/sim"
    printf '#!/bin/sh\n' | tee "$BATS_TEST_TMPDIR"/sim/{ring,ps} >/dev/null
    cat <<<"$1" >>"$BATS_TEST_TMPDIR/sim/ring"
    chmod +x "$BATS_TEST_TMPDIR"/sim/*
}

NIGHT=$BATS_TEST_DIRNAME/../sim/night.sh

@test "a night run counts its schedules, and ends at the first failure" {
    # shellcheck disable=SC2016
    stand_ins '[ -z "$WRONG" ] || [ "${2%..*}" -gt 700 ] ||
        [ "${2#*..}" -lt 700 ] || {
            echo "repeat with: $0 --seed 700"
            exit 1
        }'
    export SEEDS=3000 JOBS=2
    WRONG='' run -0 "$NIGHT" "$BATS_TEST_TMPDIR"
    [[ ${lines[-1]} = 'sim-night: 3000 schedules from 1 on, none wrong, in '*' a second with 2 processes; FIRST=3001 goes on' ]]
    WRONG=1 run -1 "$NIGHT" "$BATS_TEST_TMPDIR"
    [[ $output = *'repeat with: '*'/sim/ring --seed 700'* ]]
    [[ $output != *'none wrong'* ]]
}

# The second of four slices, seeds 21 to 40 of the ring, waits for a signal.
@test "an interrupted night run prints where to continue" {
    # shellcheck disable=SC2016
    stand_ins 'here=${0%/sim/ring}
        [ "$2" != 21..40 ] || : >"$here/begun"
        until [ "$2" != 21..40 ] || [ -e "$here/go" ]; do sleep 0.02; done'
    local out=$BATS_TEST_TMPDIR/out status=0
    export SEEDS=100 JOBS=1 TMPDIR=$BATS_TEST_TMPDIR
    "$NIGHT" "$BATS_TEST_TMPDIR" >"$out" 3>&- &
    local pid=$!
    until [ -e "$BATS_TEST_TMPDIR/begun" ]; do sleep 0.02; done
    kill "$pid"
    until ls "$BATS_TEST_TMPDIR"/*/end >/dev/null 2>&1; do sleep 0.02; done
    : >"$BATS_TEST_TMPDIR/go"
    wait "$pid" || status=$?
    [ "$status" = 130 ]
    [[ $(tail -n 1 "$out") = 'sim-night: 50 schedules from 1 on, none wrong, '*'; FIRST=51 goes on' ]]
    SEEDS=50 FIRST=51 run -0 "$NIGHT" "$BATS_TEST_TMPDIR"
    [[ ${lines[-1]} = 'sim-night: 50 schedules from 51 on, none wrong, '*'; FIRST=101 goes on' ]]
}
