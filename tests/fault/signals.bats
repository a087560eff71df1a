#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# SIGINT and SIGTERM at random moments to every command of every tool
# (signals.list): it ends soon, with status 130 and a valid document, and leaves
# nothing. SIGNALS_TIMES=N has N trials of each line in place of one;
# SIGNALS_SEED=S repeats a failure with the seed that it prints.

setup_file() {
    bats_require_minimum_version 1.5.0
    BUILD=$(realpath "${B:-build}")
    export BUILD PATH=$BUILD:$PATH
    # shellcheck disable=SC2046,SC2086
    ${CC:-cc} ${SAN:-} -D_GNU_SOURCE -Wall -Wextra -o "$BATS_FILE_TMPDIR/signals" \
        "$BATS_TEST_DIRNAME/signals.c" $(pkg-config --cflags --libs jansson)
    cd "$BATS_FILE_TMPDIR" || return 1
    cp "$BATS_TEST_DIRNAME/../../labs/nets/digits.net" .
    cp "$BATS_TEST_DIRNAME/../../labs/topologies/racks.topo" .
    echo 'up 2; wait alive==9' >script.ring
    truncate -s 4G endless
    ringctl sim ring -n 5 --seed 7 --events one.jsonl
    for _ in $(seq 200); do cat one.jsonl; done >big.jsonl
    awk 'BEGIN { for (i = 0; i < 2000; i++) {
        printf "%d", i % 2 * 2 - 1
        for (k = 1; k < 20; k++) printf " %d:%g", k, i * k % 97 / 97
        print ""
    } }' >rows.libsvm
}

setup() {
    cd "$BATS_FILE_TMPDIR" || return 1
    LIST=$BATS_TEST_DIRNAME/signals.list
}

signals() {
    ./signals -n "${SIGNALS_TIMES:-1}" ${SIGNALS_SEED:+-s "$SIGNALS_SEED"} "$@"
}

# part SECTION: the lines below that heading of the list.
part() {
    awk -v wanted="$1" '/^# ----/ { on = index($0, wanted) } on' "$LIST" |
        grep .
}

@test "a signal ends commands that compute, read and print soon, with a valid document" {
    part computing | signals
}

@test "a signal ends commands that have started processes, and leaves none of them" {
    part processes | signals -r
}

# The supervisor blocks its signals, so it must not block in a write to the full
# pipe.
@test "a launch whose output is not read ends by SIGTERM" {
    mkfifo unread
    exec 8<>unread
    run ! dd if=/dev/zero of=unread bs=4096 oflag=nonblock # until it is full
    collrun train lr rows.libsvm -n 2 -E 100000 -o jsonl >unread 2>said 8<&- 3>&- &
    local pid=$!
    until pgrep -P "$pid" >children; do kill -0 "$pid"; done
    # Then the ranks' pipes to the supervisor are full, too ("0": wchan is
    # hidden here).
    until sed 's|.*|/proc/&/wchan|' children | xargs cat | grep -qE 'pipe_write|^0'; do
        kill -0 "$pid"
    done
    kill -TERM "$pid"
    local status=0
    wait "$pid" || status=$?
    exec 8<&-
    [ "$status" -eq 130 ]
    grep -q interrupted said
}

@test "a signal ends the runs of a script" {
    part runs | signals -r
}

# The supervisor is stopped, so that the signal comes while the script asks for
# the end of its run: it has closed the file that it sources.
@test "a signal at the end of a script ends its runs all the same" {
    mkfifo rest answers
    GRADWIRE_RUNS=$PWD/runs ringctl -c 'up 2 --name otter; source ./rest' \
        >answers 3>&- &
    local ringctl=$! supervisor
    read -r <answers
    supervisor=$(grep -o '"pid": *[0-9]*' runs/otter/run.json)
    supervisor=${supervisor##*[!0-9]}
    kill -STOP "$supervisor"
    echo >rest
    while readlink "/proc/$ringctl/fd/"* | grep -q 'rest$'; do :; done
    kill -TERM "$ringctl"
    wait "$ringctl" || :
    kill -CONT "$supervisor"
    timeout 100 tail --pid="$supervisor" -f /dev/null
}
