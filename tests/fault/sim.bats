#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# The simulated ring finds a rule that is broken on purpose: a book that takes
# in what was sent in an earlier view. That rings which keep the rules pass is
# tested by `make sim`, with many more seeds.

setup_file() {
    bats_require_minimum_version 1.5.0
    SIM=$(realpath "${B:-build}/sim")
    export SIM
}

@test "without the check of the epoch a sum goes wrong, and the oracle sees it" {
    run -1 "$SIM/ring" --without epoch-check --seeds 1..2000
    grep -E 'seed [0-9]+ fails: .* (a wrong sum|counts [0-9]+ times)' \
        <<<"$output"
}

@test "a failing seed tells how to repeat it, and the few faults that matter" {
    run -1 "$SIM/ring" --without epoch-check --seeds 1..2000
    seed=$(sed -n 's/^repeat with: .* --seed //p' <<<"$output")
    faults=$(sed -n 's/^\([0-9]*\) of its .* faults are enough.*/\1/p' \
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
}

@test "what is no range of seeds is refused" {
    run -64 "$SIM/ring" --seeds 9..3
    run -64 "$SIM/ring" --seeds
    run -64 "$SIM/ring" --what 3
}

@test "a server that forgets what it has seen counts a push twice" {
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

# Stand-ins for the simulations: seed 700 of the ring is wrong.
@test "a night counts its schedules, and ends at the first that is wrong" {
    mkdir -p "$BATS_TEST_TMPDIR/sim"
    printf '#!/bin/sh\n' | tee "$BATS_TEST_TMPDIR"/sim/{ring,ps} >/dev/null
    cat >>"$BATS_TEST_TMPDIR/sim/ring" <<'END'
[ -z "$WRONG" ] || [ "${2%..*}" -gt 700 ] || [ "${2#*..}" -lt 700 ] || {
    echo "repeat with: $0 --seed 700"
    exit 1
}
END
    chmod +x "$BATS_TEST_TMPDIR"/sim/*
    run -0 env WRONG= SEEDS=3000 JOBS=2 "$BATS_TEST_DIRNAME/../sim/night.sh" \
        "$BATS_TEST_TMPDIR"
    [[ $output = *'sim-night: 3000 schedules from seed 1 on, none wrong'* ]]
    run -1 env WRONG=1 SEEDS=3000 JOBS=2 "$BATS_TEST_DIRNAME/../sim/night.sh" \
        "$BATS_TEST_TMPDIR"
    [[ $output = *'repeat with: '*'/sim/ring --seed 700'* ]]
    [[ $output != *'none wrong'* ]]
}
