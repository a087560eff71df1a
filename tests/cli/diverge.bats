#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# A diverging training ends with status 1 and a message that names the step, at
# every level of kernels of this machine. The NaNs and infinities on the way
# depend on the level; the message does not.
# shellcheck disable=SC2154 # run sets stderr

setup_file() {
    bats_require_minimum_version 1.5.0
    BIN=$(realpath "${B:-build}")
    export BIN
    cd "$BATS_FILE_TMPDIR" || return 1
    make_rows >rows
    printf '%s\n' 'network small' 'input 6' 'dense 8' relu 'dense 6' tanh \
        'dense 3' softmax >small.net
}

setup() {
    cd "$BATS_FILE_TMPDIR" || return 1
    export LC_ALL=C GRADWIRE_RUNS=$BATS_TEST_TMPDIR/runs
}

# 120 rows of 6 features; the largest of three sums is the class.
make_rows() {
    awk 'BEGIN {
        state = 11
        for (row = 0; row < 120; row++) {
            line = ""; best = -9
            for (j = 0; j < 6; j++) {
                state = (state * 16807) % 2147483647
                x[j] = state / 2147483647 * 2 - 1
                line = line sprintf(" %d:%.4f", j + 1, x[j])
            }
            for (c = 0; c < 3; c++)
                if (x[c] + x[c + 3] / 2 > best) {
                    best = x[c] + x[c + 3] / 2
                    label = c
                }
            print label line
        }
    }'
}

# names VARIABLE: its levels, from the error about an invalid one.
names() {
    env "$1=?" "$BIN/collrun" list 2>&1 | sed -n 's/.*; use one of //p' | tr -d ,
}

# diverges SENTENCE COMMAND...: at all levels, within 30 seconds.
diverges() {
    local sentence=$1 level
    shift
    for level in "GRADWIRE_CPU="{scalar,avx2,avx512,neon} "GRADWIRE_PRODUCT="{any,avx2,blas}; do
        [[ " $(names "${level%=*}") " == *" ${level#*=} "* ]] || continue
        run --separate-stderr -1 timeout 30 env "$level" "$@"
        echo "$level: $stderr"
        [[ $stderr == *$sentence* ]]
    done
}

@test "collrun train" {
    diverges "training diverges: the loss is " "$BIN/collrun" train softmax rows \
        -n 3 --lr 1e38
    [[ $stderr == *", step "[0-9]* ]]
}

@test "pipebench run" {
    diverges "training diverges in step 2" "$BIN/pipebench" run --net small.net \
        --data rows -n 2 -m 4 --batch 24 --steps 30 --lr 1e30
}

@test "pipebench layout --run" {
    diverges "training diverges in step 2" "$BIN/pipebench" layout small.net \
        --mesh 2x1x2 --run --data rows --batch 48 --steps 30 --lr 1e30
}

@test "psnode train" {
    awk '{ sub(/^2/, "1"); print }' rows >two
    diverges "training diverges after step " "$BIN/psnode" train lr two \
        -s 2 -n 2 -E 30 --set updater=sgd,l2=9,batch=30,rate=1e30
}

@test "psnode actors" {
    diverges "training diverges in update " "$BIN/psnode" actors cartpole --set rate=1e38 \
        --updates 200
}

@test "levels that this machine lacks are refused, with those that it has" {
    for variable in GRADWIRE_CPU GRADWIRE_PRODUCT; do
        run --separate-stderr -64 env $variable=abacus "$BIN/collrun" list
        [[ $stderr == *"$variable: \"abacus\" is not a vector level of this machine; use one of "* ]]
        [ -n "$(names $variable)" ]
    done
}
