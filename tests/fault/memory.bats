#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# A tool without memory reports that, ends with status 70, and leaves nothing.
# One allocation of a command fails at a time (memory.c). This is a sample of
# them; make check-memory runs all.

load ../until.bash

setup_file() {
    bats_require_minimum_version 1.5.0
    BUILD=$(realpath "${B:-build}")
    SAMPLE=${MEMORY_STRIDE:-}
    export BUILD SAMPLE
    ${CC:-cc} -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -O1 \
        -o "$BATS_FILE_TMPDIR/memory" tests/fault/memory.c
    ${CC:-cc} -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -O1 -fPIC -shared \
        -o "$BATS_FILE_TMPDIR/preload.so" tests/fault/memory_preload.c
}

setup() {
    [ -z "${SAN:-}" ] || skip "sanitizers have an allocator of their own"
    unset GRADWIRE_RUN
    mkdir "$BATS_TEST_TMPDIR/work" "$BATS_TEST_TMPDIR/tmp"
    cd "$BATS_TEST_TMPDIR/work" || return 1
    export TMPDIR=$BATS_TEST_TMPDIR/tmp
    export GRADWIRE_RUNS=$PWD/runs GRADWIRE_CALIBRATION=$PWD/none.json
    awk 'BEGIN { for (r = 0; r < 40; r++)
        print r % 2, "1:" r % 2, "2:" (r % 5) / 5, "3:" (r % 3) / 3 }' >rows
}

teardown() {
    [ -z "${shared:-}" ] || rm -rf "$shared"
}

# sweep STRIDE TOOL ARGUMENTS...
sweep() {
    "$BATS_FILE_TMPDIR/memory" "$BATS_FILE_TMPDIR/preload.so" \
        -s "${SAMPLE:-$1}" -a "'$BUILD/ringctl' down --all >/dev/null 2>&1" \
        -- "$BUILD/$2" "${@:3}" 3>&-
}

@test "pipebench plans and simulates without memory" {
    sweep 5 pipebench plan -n 3 -m 4
    sweep 11 pipebench sim -n 3 -m 4 --gantt
}

@test "ringtop draws a recording without memory" {
    "$BUILD/pipebench" sim -n 2 -m 2 --events steps.jsonl >sim.txt 3>&-
    sweep 1 ringtop --batch --from steps.jsonl
    "$BUILD/ringctl" sim ring -n 3 --events ring.jsonl >sim.txt 3>&-
    sweep 5 ringtop --batch --from ring.jsonl
}

@test "collrun prices, verifies and simulates without memory" {
    sweep 61 collrun price allreduce -n 4
    sweep 13 collrun verify allreduce -n 4 --algo ring
    sweep 97 collrun sim allreduce -n 4
}

@test "collrun bounds, synthesises and reads topologies without memory" {
    sweep 23 collrun bound allreduce -n 3
    sweep 41 collrun synth allreduce -n 3 --trees 1 --parts 2
    sweep 29 collrun synth gather --wire shm -n 3
    printf '%s%s%s\n' '<system version="1"><cpu numaid="0">' \
        '<pci busid="1" class="0x030200"><gpu dev="0"/></pci>' \
        '</cpu></system>' >nccl.xml
    sweep 7 collrun topo --from xml nccl.xml
}

@test "collrun runs ranks, one of which has no memory" {
    sweep 37 collrun run allreduce -n 2
    sweep 53 collrun bench allreduce -n 2 -b 1K -e 1K
    sweep 53 collrun train lr rows -n 2 -E 1
}

@test "pipebench runs stages, one of which has no memory" {
    sweep 41 pipebench run -n 2 -m 2
}

@test "servers and workers, one of which has no memory" {
    sweep 101 psnode bench push -k 100 --rounds 2 --warmup 1
}

@test "a run is started, looked at and ended, one process without memory" {
    sweep 31 ringctl -c 'up 2 --name t; status; down'
}

# libzmq and libuv end the process if they get no thread or memory. The loader
# cannot map the libraries below the smallest limit.
@test "too little address space is an error that leaves nothing" {
    least=40000
    until (ulimit -v $least && "$BUILD/psnode" --version && "$BUILD/ringctl" --version) &>/dev/null; do
        least=$((least + 5000))
    done
    for limit in $least $((least + 15000)) $((least + 30000)); do
        run -70 bash -c "ulimit -v $limit
            exec '$BUILD/psnode' bench push -k 100 --rounds 2 --warmup 1" 3>&-
        [[ $output = *"out of memory"* ]]
        [ -z "$(ls "$TMPDIR")" ]
        run -70 bash -c "ulimit -v $limit
            exec '$BUILD/ringctl' up 2 --name narrow" 3>&-
        [[ $output = *"out of memory"* ]]
        [ ! -e runs/narrow/endpoint ]
    done
}

@test "too few threads are an error that leaves nothing" {
    [ "$(id -u)" = 0 ] || skip "takes root, to become somebody else"
    shared=$(mktemp -d /tmp/gw-memory-XXXXXX) # bats' own folders are private
    cp "$BUILD/psnode" "$shared"
    mkdir "$shared/tmp"
    chmod 755 "$shared" "$shared/psnode"
    chmod 777 "$shared/tmp"
    cd "$shared"
    for limit in 2 8 12 16; do
        TMPDIR=$shared/tmp run -70 setpriv --reuid=54321 --regid=54321 --clear-groups \
            prlimit --nproc=$limit \
            ./psnode bench push -k 100 --rounds 2 --warmup 1 3>&-
        [[ $output = *"cannot start a thread: out of memory or threads"* ||
            $output = *"Resource temporarily unavailable"* ]]
        [ -z "$(ls "$shared/tmp")" ]
    done
}

@test "endless input is refused before it is read" {
    run -65 "$BUILD/psnode" train word2vec /dev/zero -E 1 3>&-
    [[ $output = *"/dev/zero: is a device; use a regular file or a pipe"* ]]
    run -65 "$BUILD/psnode" train lr /dev/zero -E 1 3>&-
    [[ $output = *"is a device"* ]]
    run -65 "$BUILD/collrun" train lr /dev/zero -n 2 3>&-
    [[ $output = *"is a device"* ]]
    run -65 "$BUILD/collrun" verify /dev/zero 3>&-
    [[ $output = *"is a device"* ]]
    run -65 "$BUILD/ringctl" /dev/zero 3>&-
    [[ $output = *"is a device"* ]]
    run -65 "$BUILD/ringtop" --from /dev/zero --batch 3>&-
    [[ $output = *"is a device"* ]]
}

# The writer of the pipe ends by SIGPIPE when its last reader has ended.
@test "a supervisor that is still reading ends with its client" {
    mkfifo pipe
    (while echo word; do :; done) >pipe 2>writer.txt 3>&- &
    writer=$!
    "$BUILD/psnode" train word2vec pipe -E 1 >out.txt 2>&1 3>&- &
    client=$!
    reads() {
        [ "$(find /proc/[0-9]*/fd -lname "$PWD/pipe" 2>find.txt | wc -l)" -ge 2 ]
    }
    until_true 60 reads
    kill -TERM "$client"
    until_true 60 is_over "$client" "$writer"
    wait "$client" || [ $? = 130 ]
    grep interrupted out.txt
}
