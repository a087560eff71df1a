#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Project Adam's three tricks in psnode: pointers instead of copies, coalesced
# messages, lock-free writes. The counts follow formulas.

load ../until.bash

setup_file() {
    bats_require_minimum_version 1.5.0
    BUILD=$(realpath "${B:-build}")
    export BUILD
    unset GRADWIRE_RUN GRADWIRE_RUNS
    # shellcheck disable=SC2046
    ${CC:-cc} -o "$BATS_FILE_TMPDIR/jsoncheck" tests/cli/jsoncheck.c \
        $(pkg-config --cflags --libs jansson)
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
}

psnode() {
    timeout 300 "$BUILD/psnode" "$@" </dev/null 3>&-
}

# The value at a path of a JSON document: json KEY... < document
json() {
    "$BATS_FILE_TMPDIR/jsoncheck" "$@"
}

# is FILE KEY... NUMBER: a repeated message is sent and saved again.
bench_is() {
    again=$(json rows 0 retries <"$1")
    [ "$(json rows 0 messages_sent <"$1")" = $(($2 + again)) ]
    [ "$again" -gt 0 ] || [ "$(json rows 0 messages_saved <"$1")" = "$3" ]
}

@test "bench: a request is one message per server, or one per slot" {
    n=10 slots=64
    for servers in 1 3; do
        push="bench push -k 5000 -s $servers --rounds $n -o json"
        # shellcheck disable=SC2086 # words
        psnode $push >with.json
        # shellcheck disable=SC2086
        psnode $push --set no-bundle=1 >without.json
        bench_is with.json $((n * servers)) $((n * (slots - servers)))
        bench_is without.json $((n * slots)) 0
    done
}

@test "bench: bytes in place are those of the values, and none if copied" {
    push="bench push -k 50000 -s 2 --rounds 10 -o json"
    # shellcheck disable=SC2086 # words
    psnode $push >place.json
    # shellcheck disable=SC2086
    psnode $push --set no-place=1 >copy.json
    again=$(json rows 0 retries <place.json)
    bytes=$((10 * 50000 * 4))
    [ "$(json rows 0 bytes_in_place <copy.json)" = 0 ]
    [ "$again" -gt 0 ] ||
        [ "$(json rows 0 bytes_in_place <place.json)" = $bytes ]
    # Rows of one float are gathered in the order of the slots, wide ones are
    # not.
    [ "$(json rows 0 bytes_gathered <copy.json)" -ge $bytes ]
    psnode bench push -k 20 -f 20000 --rounds 10 -o json >wide.json
    [ "$(json rows 0 bytes_gathered <wide.json)" = 0 ]
    [ "$(json rows 0 bytes_in_place <wide.json)" -ge $((10 * 20 * 20000 * 4)) ]
}

# exact: a run in which no message went around the aggregator.
exact() {
    n=20 servers=3 workers=4
    psnode bench push -k 100 -s $servers -n $workers --rounds $n \
        --set aggregate=1,aggregate-us=50000 -o json >all.json
    all="rows $workers"
    # shellcheck disable=SC2086 # words
    {
        wrong=$(json $all wrong <all.json)
        sent=$(json $all messages_sent <all.json)
        saved=$(json $all aggregator_saved <all.json)
    }
    [ "$wrong" = 0 ] || broken="$wrong sums are wrong"
    [ "$sent" -ge $((n * workers)) ] || broken="only $sent messages"
    [ -n "${broken-}" ] ||
        [ "$sent $saved" = "$((n * workers)) $((n * servers * (workers - 1)))" ]
}

# W workers push in step to S servers: W messages to the aggregator, S from it,
# instead of W S. It waits long, so that none is left behind. On a busy machine a
# push before the count may be repeated, and its worker then avoids the
# aggregator for a second: another run is needed.
@test "bench: an aggregator sends one message per server for all workers" {
    until_true 60 exact
    [ -z "${broken-}" ] || { echo "$broken"; return 1; }
}

@test "train: by an aggregator the bits are the same, and messages are fewer" {
    train="train mf -s 3 -n 3 -E 2 -m bsp --set ratings=20000"
    # shellcheck disable=SC2086 # words
    psnode $train -o json >without.json
    # shellcheck disable=SC2086
    psnode $train,aggregate=1 -o json >with.json
    [ "$(json digest <with.json)" = "$(json digest <without.json)" ]
    [ "$(json aggregator_saved <with.json)" -gt 0 ]
    items=$(json items <with.json) # each at least two tables of three servers
    [ "$(json retries <with.json)" -gt 0 ] ||
        [ "$(json messages_sent <with.json)" -lt $((items * (1 + 2 * 2 * 3))) ]
    run json aggregator_sent <without.json
    [ "$status" -ne 0 ]
}

@test "aggregate is refused before anything starts where it cannot act" {
    while read -r sentence arguments; do
        # shellcheck disable=SC2086 # words
        run -64 psnode $arguments
        [[ $output = *"${sentence//_/ }"* ]]
        [ ! -e runs ]
    done <<-END
		at_least_2_workers,_not_1 bench push -k 100 --set aggregate=1
		at_least_2_workers,_not_1 train drift -n 1 --set aggregate=1
		either_aggregate_or_no-bundle train drift -n 2 --set aggregate=1,no-bundle=1
		1_to_50000,_not_60000 bench push -n 2 --set aggregate=1,aggregate-us=60000
		2_workers,_not_1 bench push --set aggregate=1 --set aggregate-us=9
		aggregate-us_needs_aggregate=1 bench push -n 2 --set aggregate-us=60
		simulation_has_no_messages sim drift --set aggregate=1
		simulation_has_no_threads sim drift -m asp --set hogwild=1,threads=2
		--compute,_--slow train drift -n 2 --compute 1ms --set aggregate=1
	END
}

@test "a run whose workers have an aggregator has no rules of links" {
    run "$BUILD/ringctl" -c 'up 2 --servers 1 --set aggregate=1
        link w0 s0 delay 1ms' </dev/null 3>&-
    [[ $output = *"link w0 s0 delay 1ms: with aggregate=1"* ]]
    run "$BUILD/ringctl" -c 'up 2 --servers 1
        train drift --set aggregate=1' </dev/null 3>&-
    [[ $output = *"aggregate=1 needs workers that have not connected"* ]]
}

@test "train: a unit is a message to the clock, and two per table and server" {
    servers=2 tables=2
    psnode train mf -s $servers -n 2 -E 2 --set ratings=20000 -o json >mf.json
    items=$(($(json rows 0 items <mf.json) + $(json rows 1 items <mf.json)))
    sent=$(($(json messages_sent <mf.json) - $(json retries <mf.json)))
    formula=$((items * (1 + 2 * tables * servers)))
    [ "$items" = 40 ]
    # Besides the items: the plan, its end, the evaluated model.
    [ "$sent" -ge $formula ]
    [ "$sent" -le $((formula * 5 / 4)) ]
    [ "$(json messages_saved <mf.json)" -gt "$sent" ]
    [ "$(json server_messages_sent <mf.json)" -gt 0 ]
}

# ROWS rows of all FEATURES features, so that threads meet in each of them.
make_rows() {
    awk -v rows="$1" -v features="$2" 'BEGIN {
        for (row = 0; row < rows; row++) {
            line = row % 2
            for (j = 1; j <= features; j++)
                line = line " " j ":" (row * j % 7 - 3 + line)
            print line
        }
    }'
}

# hogwild SETTINGS MODEL ARGUMENTS: with four threads that write without locks.
hogwild() {
    psnode train "${@:2}" -m asp --set "threads=4,hogwild=1,$1" -o json >out.json
    writes=$(json row_writes <out.json)
    lost=$(json row_writes_lost <out.json)
    [ "$lost" -ge 0 ]
    [ "$lost" -lt "$writes" ] # of ten rows an eighth was seen
    [ "$(json lost <out.json)" = 0 ]
    [ "$(json doubled <out.json)" = 0 ]
}

@test "train: threads write without locks, and each update is counted" {
    rows=2000 features=9 epochs=3
    make_rows $rows $features >rows.libsvm
    hogwild rate=0.1 lr rows.libsvm -n 2 -E $epochs -b 500
    [ "$writes" = $((epochs * rows * (features + 1))) ]
    hogwild ratings=20000 mf -n 2 -E 2
    [ "$writes" = $((2 * 2 * 20000)) ]
    tr -s ' :' '\n' <rows.libsvm | head -n 4000 >words.txt
    hogwild dimension=8 word2vec words.txt -E 1
    [ "$writes" -ge $((2 * $(json rows 0 samples <out.json))) ]
    psnode train mf -m asp -E 1 --set ratings=2000 -o json >out.json
    run json row_writes <out.json
    [ "$status" -ne 0 ]
}

@test "train: hogwild is refused before anything starts where it cannot act" {
    make_rows 10 2 >rows.libsvm
    while read -r sentence arguments; do
        # shellcheck disable=SC2086 # words
        run -64 psnode train $arguments
        [[ $output = *"${sentence//_/ }"* ]]
        [ ! -e runs ]
    done <<-END
		asp,_not_bsp lr rows.libsvm --set threads=4,hogwild=1
		asp,_not_kofn:1 mf -m kofn:1 --set threads=4,hogwild=1
		2_to_64_threads,_not_1 mf -m asp --set hogwild=1
		drift_has_no_rows drift -m asp --set threads=4,hogwild=1
	END
    run -64 psnode bench push -k 100 --set hogwild=1
    [[ $output = *"2 to 64 threads, not 1"* ]]
    run -64 psnode bench push -k 100 -s 2 -R 2 --set hogwild=1,threads=2
    [[ $output = *"hogwild needs --replicas 1, not 2"* ]]
}

@test "a training with hogwild keeps its mode" {
    run -64 timeout 120 "$BUILD/ringctl" -c 'up 2 --servers 1 --mode asp \
        --set threads=2,hogwild=1 train mf --epochs 100000; mode bsp' \
        </dev/null 3>&-
    echo "$output"
    [[ $output = *"mode bsp: hogwild needs mode asp, not bsp"* ]]
}
