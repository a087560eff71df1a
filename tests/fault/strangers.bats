#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Strangers at the ports of a cluster of real processes: they connect and send
# nothing, send half a frame or an endless one, or flood the port. The training
# must end with the same weights, and the memory of the attacked processes stays
# bounded. With a key no stranger is accepted, without one no other user of the
# host; each is reported once.
# shellcheck disable=SC2154 # find_port sets port

load ../until.bash

setup_file() {
    bats_require_minimum_version 1.5.0
    RINGCTL=$(realpath "${RINGCTL:-${B:-build}/ringctl}")
    PSNODE=$(realpath "${PSNODE:-${B:-build}/psnode}")
    COLLRUN=$(realpath "${COLLRUN:-${B:-build}/collrun}")
    export RINGCTL PSNODE COLLRUN
    ${CC:-cc} -o "$BATS_FILE_TMPDIR/strangers" "$BATS_TEST_DIRNAME/strangers.c"
    "$RINGCTL" keygen "$BATS_FILE_TMPDIR/lab.key"
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    STRANGERS=$BATS_FILE_TMPDIR/strangers
    pids=() controller=0 server=0 other=0
    mkfifo crowd
}

teardown() {
    [ -z "${pids[*]}" ] || kill -KILL "${pids[@]}" 2>/dev/null || true
}

# start NAME ARGUMENTS: in the background, until it is ready; sets NAME to its
# pid.
start() {
    "$PSNODE" "${@:2}" >"$1.out" 2>"$1.err" </dev/null 3>&- &
    pids+=($!)
    printf -v "$1" %s $!
    until_true 60 grep -q 'is ready' "$1.out"
}

# cluster [OPTIONS]: a controller and two servers.
cluster() {
    find_port
    join=tcp://127.0.0.1:$port
    start controller controller --peers "$join" --dir "c$port" --servers 2 "$@"
    start server server --join "$join" "$@"
    start other server --join "$join" "$@"
}

work() {
    "$PSNODE" worker --join "$join" --workers 1 --timeout 30s "$@" \
        train drift --epochs 3 --set rows=500 -o json
}

# train [OPTIONS]: the digest of the weights, which is the same each time.
train() {
    work "$@" >worker.out 2>worker.err ||
        { cat worker.out worker.err; return 1; }
    grep -o '"digest"[^,]*' worker.out
}

dismiss_cluster() {
    kill -KILL "$other" "$server" "$controller"
    wait "$other" "$server" "$controller" || true
}

# sockets_of PID STATE: the ports of a process's TCP sockets in a state of the kernel.
sockets_of() {
    local inodes ports
    inodes=$(readlink "/proc/$1/fd/"* | sed -n 's/^socket:\[\(.*\)\]$/\1/p')
    ports=$(awk -v inodes="$inodes" -v state="$2" '
        BEGIN { split(inodes, list, "\n"); for (i in list) own[list[i]] }
        $4 == state && $10 in own { print "0x" substr($2, 10) }' "/proc/$1/net/tcp")
    # shellcheck disable=SC2086 # one word per port
    [ -z "$ports" ] || printf '%d\n' $ports
}

# The ports on which a process listens.
ports_of() {
    sockets_of "$1" 0A
}

# The peak memory is that without strangers: 150 MiB, and with a sanitizer also
# the freed memory that it keeps.
is_slim() {
    limit=150
    [ -z "${SAN:-}" ] || limit=600
    awk -v limit=$limit '/^VmHWM:/ {
        print int($2 / 1024) " of " limit " MiB"
        exit $2 / 1024 >= limit
    }' "/proc/$1/status"
}

# crowd KIND PORT COUNT [USER]: strangers that stay until the test ends.
crowd() {
    "$STRANGERS" "$1" 127.0.0.1 "${@:2}" <crowd >"$1.$2" 2>&1 3>&- &
    pids+=($!)
    until_true 60 grep -qs there "$1.$2" || { cat "$1.$2"; return 1; }
}

# All kinds of strangers at all ports of a process.
harass() {
    mapfile -t ports < <(ports_of "$1")
    [ "${#ports[@]}" -ge 2 ]
    for p in "${ports[@]}"; do
        crowd silent "$p" 50
        crowd half "$p" 50
        "$STRANGERS" flood 127.0.0.1 "$p" 200 >"flood.$p" 3>&- &
        pids+=($!)
    done
}

# The flood was received or refused, and memory has not grown.
expect_calm() {
    for p in "${ports[@]}"; do
        until_true 60 grep -q taken "flood.$p"
        run -0 "$STRANGERS" huge 127.0.0.1 "$p" 20
        [ "$output" = "20 of 20 were thrown out" ]
    done
    is_slim "$1"
}

@test "without a key: strangers cost no memory and delay no member" {
    cluster
    calm=$(train)
    dismiss_cluster
    cluster
    exec 9<>crowd
    for who in $controller $server; do
        harass "$who"
        [ "$who" = "$controller" ] || [ "$(train)" = "$calm" ]
        expect_calm "$who"
    done
}

# An endless message is buffered until it is complete: 200 MiB of empty parts
# would take 6 GiB. A stranger that comes again is not accepted, and not
# reported again. A port on a busy machine may drop all three for their messages
# before it has checked their user; so the last one is silent, and stays.
@test "without a key: another user of the host is cut off, and reported once" {
    [ "$(id -u)" -eq 0 ] || skip "needs root, to be another user"
    cluster
    calm=$(train)
    dismiss_cluster
    cluster
    exec 9<>crowd
    for who in controller server; do
        mapfile -t ports < <(ports_of "${!who}")
        [ "${#ports[@]}" -ge 2 ]
        for p in "${ports[@]}"; do
            for again in 1 2 3; do
                "$STRANGERS" parts 127.0.0.1 "$p" 200 65534 >"parts.$again.$p"
                [ "$(cut -d' ' -f1 "parts.$again.$p")" -lt 50 ]
            done
            crowd silent "$p" 1 65534
        done
        is_slim "${!who}"
    done
    [ "$(train)" = "$calm" ]
    for who in controller server; do
        until_true 60 grep 'another user (65534) was refused' $who.err ||
            { cat $who.err; return 1; }
        [ "$(sort $who.err | uniq -d | wc -l)" = 0 ]
    done
}

@test "with a key: strangers are refused, and reported once" {
    key=$BATS_FILE_TMPDIR/lab.key
    cluster --key "$key"
    exec 9<>crowd
    at=$port
    for who in controller server; do
        harass "${!who}"
        expect_calm "${!who}"
        for p in "${ports[@]}"; do
            [ "$(cut -d' ' -f1 "flood.$p")" -le 4 ]
        done
    done
    train --key "$key"
    GRADWIRE_KEY=$key work # there is nothing left to do
    run -124 work --timeout 1s
    for who in controller server; do
        cat $who.err
        [ "$(grep -c 'without the key' $who.err)" -ge 1 ]
        [ "$(grep 'without the key' $who.err | sort | uniq -d | wc -l)" = 0 ]
    done
    [ "$(grep -c "tcp://127.0.0.1:$at: .* without the key" controller.err)" = 1 ]
}

# taken PORT: the port has an established connection.
taken() {
    awk -v port="$(printf ':%04X' "$1")" '
        $4 == "01" && substr($2, length($2) - 4) == port { found = 1 }
        END { exit !found }' /proc/net/tcp
}

# have_met PID: all connections of its three ranks exist. Two of them listen for
# the higher ranks, on two ports for each. Writes "rank port" into lanes.txt.
have_met() {
    for rank in $(pgrep -P "$1"); do
        ports_of "$rank" | sed "s/^/$rank /"
    done >lanes.txt
    [ "$(wc -l <lanes.txt)" -eq 6 ] || return 1
    while read -r _ p; do
        taken "$p" || return 1
    done <lanes.txt
}

# connected PID: its three ranks have two lanes and two notes each, and no door.
connected() {
    local rank
    for rank in $(pgrep -P "$1"); do
        [ "$(sockets_of "$rank" 01 | wc -l)" -eq 4 ] || return 1
        [ -z "$(ports_of "$rank")" ] || return 1
    done
    [ "$(pgrep -cP "$1")" -eq 3 ]
}

rows_done() {
    [ "$(grep -c '"wrong":' bench.jsonl)" -ge "$1" ]
}

# The bench continues until all strangers have been there, and for one row more.
# Only until they have met do ranks listen over tcp, and over ipc nowhere.
@test "ranks over tcp: once they have met, no stranger can connect" {
    env --default-signal=INT "$COLLRUN" bench allreduce -n 3 --wire tcp \
        --sizes 64K,64K --seconds 20s -o jsonl >bench.jsonl 2>bench.err </dev/null 3>&- &
    bench=$!
    pids+=("$bench")
    until_true 60 connected "$bench"
    kill -INT "$bench"
    status=0
    wait "$bench" || status=$?
    [ "$status" = 130 ]
}

@test "ranks over zmq: data of strangers are in no sum" {
    sizes=$(printf ',64K%.0s' {1..64})
    env --default-signal=INT "$COLLRUN" bench allreduce -n 3 --wire zmq \
        --sizes "${sizes#,}" --seconds 1s -o jsonl \
        >bench.jsonl 2>bench.err </dev/null 3>&- &
    bench=$!
    pids+=("$bench")
    until_true 60 have_met "$bench"
    while read -r rank p; do
        "$STRANGERS" slices 127.0.0.1 "$p" 20 >>taken.txt
        "$STRANGERS" flood 127.0.0.1 "$p" 20 >>taken.txt
        is_slim "$rank"
    done <lanes.txt
    cat taken.txt
    rows=$(grep -c '"wrong":' bench.jsonl) || true
    until_true 60 rows_done $((rows + 1))
    kill -INT "$bench"
    status=0
    wait "$bench" || status=$?
    tail -n 2 bench.jsonl
    cat bench.err
    [ "$status" = 130 ]
    run ! grep -E '"wrong":[^0]' bench.jsonl
}

# ---- with a key: a stranger with recorded traffic, and one with another key
# ----

build_replay() {
    # shellcheck disable=SC2046
    ${CC:-cc} -o replay "$BATS_TEST_DIRNAME/replay.c" \
        $(pkg-config --cflags --libs libzmq)
}

# digest OUT: the digest of the weights at the end of a training.
digest() {
    grep -o '"digest"[^,]*' "$1"
}

long_work() {
    "$PSNODE" worker --join "$join" --workers 1 --timeout 120s "$@" \
        train drift --epochs 20 --set rows=500 -o json
}

# The recorded messages of a worker's join and pushes to the controller and both
# servers are sent again, during the training and after it.
@test "with a key: replayed messages have no effect" {
    [ "$(id -u)" -eq 0 ] || skip "needs root, to hear"
    build_replay
    key=$BATS_FILE_TMPDIR/lab.key
    cluster --key "$key"
    calm=$(long_work --key "$key" 2>calm.err | digest /dev/stdin)
    dismiss_cluster
    cluster --key "$key"
    mkdir heard
    mapfile -t ports < <(for who in $controller $server $other; do
        ports_of "$who"
    done)
    exec 9<>crowd
    ./replay record heard "${ports[@]}" <crowd >record.out 3>&- &
    pids+=($!)
    until_true 60 grep -q there record.out
    long_work --key "$key" >worker.out 2>worker.err &
    worker=$!
    pids+=("$worker")
    loud() { [ -n "$(find heard -size +8k)" ]; }
    until_true 60 loud
    cp -r heard said
    for file in said/*; do
        [ -s "$file" ] || continue
        p=${file#said/}
        run -0 ./replay play 127.0.0.1 "${p%%.*}" "$file" 3
        echo "$p: $output" >>played
    done
    wait $worker
    [ "$(digest worker.out)" = "$calm" ]
    grep -q 'were thrown out' played
    for file in heard/*; do
        [ -s "$file" ] || continue
        p=${file#heard/}
        run -0 ./replay play 127.0.0.1 "${p%%.*}" "$file" 1
    done
    long_work --key "$key" # there is nothing left to do
}

files_of() {
    find "/proc/$1/fd" -mindepth 1 | wc -l
}

resident_kb() {
    awk '/^VmRSS:/ { print $2 }' "/proc/$1/status"
}

few_files() {
    [ "$(files_of "$1")" -le "$2" ]
}

@test "with a key: repeated connections with a different key delay no member" {
    build_replay
    "$RINGCTL" keygen other.key
    key=$BATS_FILE_TMPDIR/lab.key
    cluster --key "$key"
    calm=$(long_work --key "$key" 2>calm.err | digest /dev/stdin)
    dismiss_cluster
    cluster --key "$key"
    for who in $controller $server; do
        before[who]=$(files_of "$who")
        for p in $(ports_of "$who"); do
            mkfifo "end.$p"
            ./replay keys 127.0.0.1 "$p" other.key 40 <"end.$p" >"keys.$p" 3>&- &
            pids+=($!)
            knockers+=($!)
            # shellcheck disable=SC2034 # it stays open
            exec {end}<>"end.$p"
            until_true 60 grep -q there "keys.$p"
        done
    done
    long_work --key "$key" >worker.out 2>worker.err &
    worker=$!
    pids+=("$worker")
    until_true 60 grep -q 'without the key' server.err
    for who in $controller $server; do
        warm[who]=$(resident_kb "$who")
    done
    wait $worker
    [ "$(digest worker.out)" = "$calm" ]
    for who in $controller $server; do
        echo "$who: ${warm[who]} to $(resident_kb "$who") kB, ${before[who]} to $(files_of "$who") files"
        # The address sanitizer keeps 256 MiB that were freed.
        [ "$(resident_kb "$who")" -lt $((warm[who] + (${SAN:+256} + 32) * 1024)) ]
        few_files "$who" $((before[who] + 400))
    done
    kill -KILL "${knockers[@]}"
    for who in $controller $server; do
        until_true 60 few_files "$who" $((before[who] + 20))
        is_slim "$who"
    done
}
