#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# labs/programs/ddp.c, pygloo.c and mapreduce.c as ranks of `collrun exec`:
# gradients in buckets, processes that find each other by a store, and one job
# per iteration, compared with parameter servers. hello.c is in place.bats,
# elastic.c in elastic.bats.
# shellcheck disable=SC2154 # of bats

setup_file() {
    bats_require_minimum_version 1.5.0
    cd "$BATS_TEST_DIRNAME/../.." || return 1
    COLLRUN=$(realpath "${COLLRUN:-build/collrun}")
    BUILD=$(realpath "${B:-build}")
    export COLLRUN BUILD
    for program in ddp pygloo mapreduce; do
        # shellcheck disable=SC2086
        ${CC:-cc} -Wall -Wextra -Werror -O1 \
            -o "$BATS_FILE_TMPDIR/$program" "labs/programs/$program.c" \
            -I lib/include -L "$BUILD" -lgradwire -lm \
            -Wl,-rpath,"$BUILD" ${SAN:-}
    done
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    PATH=$BATS_FILE_TMPDIR:$PATH
}

# ddp RANKS STEPS BUCKET_BYTES: its line, in `line`.
ddp() {
    line=$("$COLLRUN" exec -n "$1" ddp "$2" "$3")
    echo "$line"
    [[ $line == "$1 ranks, $2 steps, "*", all copies equal, "* ]]
}

loss() {
    local rest=${line#*loss }
    echo "${rest%%,*}"
}

@test "ddp: any number of ranks and buckets learns the same" {
    ddp 1 60 16384
    alone=$(loss)
    for case in '2 1 8' '4 16384 3' '3 100000 2'; do
        read -r ranks bytes buckets <<<"$case"
        ddp "$ranks" 60 "$bytes"
        [[ $line == *", $buckets buckets: "* ]]
        awk -v a="$alone" -v b="$(loss)" \
            'BEGIN { exit !(a > 0 && (a - b) ^ 2 < (a / 100) ^ 2) }'
    done
}

@test "ddp: a batch that the ranks do not divide is refused" {
    run -64 --separate-stderr "$COLLRUN" exec -n 7 ddp
    [[ $stderr == *"7 ranks do not divide a batch of 240"* ]]
}

@test "pygloo: a store makes ranks of processes, which call the primitives" {
    for job in 1 2; do
        echo "job $job"
        "$COLLRUN" exec -n 3 pygloo store 3 >lines
        sort lines
        for rank in 0 1 2; do
            grep -qx "rank $rank of 3: allreduce 3 6 9 3 6 9" lines
            grep -qx "rank $rank of 3: allgather 0 1 2" lines
            grep -qx "rank $rank of 3: reduce_scatter $((3 * rank))" lines
            grep -qx "rank $rank of 3: broadcast 1 2 3" lines
        done
        [ "$(wc -l <lines)" -eq 12 ]
        [ -z "$(ls store)" ] # the next job may use it
    done
}

@test "pygloo: a store that is taken is named" {
    mkdir store
    touch store/rank.0 store/rank.1
    run -64 --separate-stderr pygloo store 2
    [ "$stderr" = "pygloo: store: 2 processes have a rank already; another job's? Remove the folder" ]
}

# 240 rows of 6 features; the sign of a sum of two decides the label.
make_rows() {
    awk 'BEGIN {
        state = 7
        for (row = 0; row < 240; row++) {
            line = ""
            for (j = 1; j <= 6; j++) {
                state = (state * 16807) % 2147483647
                x[j] = state / 2147483647 * 2 - 1
                if (j != 1 + row % 6)
                    line = line sprintf(" %d:%.4f", j, x[j])
            }
            print (x[1] + x[2] > 0 ? "+1" : "-1") line
        }
    }'
}

# The number after a word of the last line.
after() {
    tail -n 1 | awk -v name="$1" '{
        for (i = 1; i < NF; i++) if ($i == name) print $(i + 1) }'
}

@test "mapreduce: bytes by formula; the same for any ranks; servers learn more" {
    make_rows >rows
    "$COLLRUN" exec -n 1 mapreduce rows 10 >alone
    "$COLLRUN" exec -n 3 mapreduce rows 10 >three
    awk -v a="$(after loss <alone)" -v b="$(after loss <three)" \
        'BEGIN { exit !(a > 0 && (a - b) ^ 2 < 1e-8) }'
    [ "$(wc -l <three)" -eq 10 ]
    # Each rank has a pair for each of 8 keys; 16 pairs in total go to another
    # rank. Counts are 8 bytes to each other rank.
    [ "$(after bytes_read <three)" -eq "$(wc -c <rows)" ]
    [ "$(after pairs <three)" -eq $((3 * 8)) ]
    [ "$(after bytes_shuffled <three)" -eq $((3 * 2 * 8 + 2 * 8 * (4 + 8))) ]
    [ "$(after bytes_spread <three)" -eq $((3 * 2 * 3 * 4)) ]
    # Equally many passes over the data; servers make 8 updates in each.
    "$BUILD/psnode" train lr rows -n 3 -E 10 -o json \
        --set batch=30,updater=sgd,rate=0.5 >servers
    awk -v a="$(after loss <three)" -v b="$(grep -o '"train_loss":[0-9.]*' \
        servers | cut -d: -f2)" 'BEGIN { exit !(b > 0 && b < a * 0.8) }'
}
