#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Tables on a terminal: a wider table loses its least important columns, with a
# note that lists them. Without a terminal no column is lost.

setup_file() {
    bats_require_minimum_version 1.5.0
    cd "$BATS_TEST_DIRNAME/../.." || return 1
    PATH=$(realpath "${B:-build}"):$PATH
    export PATH
}

setup() {
    command -v script >/dev/null || skip "script(1) is not installed"
}

# on_terminal COLUMNS COMMAND: its output on such a terminal, without colours.
on_terminal() {
    script -qec "stty cols $1; $2 2>/dev/null" /dev/null </dev/null |
        tr -d '\r' | sed 's/\x1b\[[0-9;]*[mK]//g' >"$BATS_TEST_TMPDIR/shown"
    cat "$BATS_TEST_TMPDIR/shown"
}

# fits COLUMNS COMMAND: no line is wider, and a note lists the omitted columns.
fits() {
    on_terminal "$1" "$2"
    [ -s "$BATS_TEST_TMPDIR/shown" ]
    awk -v columns="$1" 'length > columns { exit 1 }' "$BATS_TEST_TMPDIR/shown"
    grep -q '^# not shown: ' "$BATS_TEST_TMPDIR/shown"
}

@test "wide tables fit 80 columns, and name the omitted columns" {
    fits 80 "psnode actors cartpole -n 2 --updates 20"
    fits 80 "psnode sim drift -n 4 --mode bsp --rounds 20 --target 0.1"
    fits 60 "psnode sim drift -n 4 --mode bsp --rounds 20 --target 0.1"
    grep -q 's to target$' "$BATS_TEST_TMPDIR/shown"
    fits 80 "pipebench compare"
    fits 80 "pipebench layout labs/nets/deep.net --mesh 1x4x1"
    fits 80 "ringctl sim ring --each --seeds 1..2"
    fits 80 "collrun bench allreduce -n 2 -b 1K -e 1K"
}

@test "texts share the room of any terminal, broken between words" {
    for columns in 80 100 120 140; do
        on_terminal $columns "collrun list" >/dev/null
        awk -v columns=$columns 'length > columns { exit 1 }' "$BATS_TEST_TMPDIR/shown"
        grep -q 'formula' "$BATS_TEST_TMPDIR/shown"
    done
    grep -q 'formula.*summary' "$BATS_TEST_TMPDIR/shown"
    # nothing is lost
    words() { tr -s ' \n' '\n' | sort; }
    on_terminal 120 "collrun list allreduce" | words >"$BATS_TEST_TMPDIR/broken"
    collrun list allreduce | words >"$BATS_TEST_TMPDIR/whole"
    cmp "$BATS_TEST_TMPDIR/broken" "$BATS_TEST_TMPDIR/whole"
}

# relayed COMMAND: its output when Open MPI has given it a terminal of its own.
relayed() {
    script -qec "stty cols 40; TERM=xterm OMPI_COMM_WORLD_RANK=0 $1" \
        /dev/null </dev/null >"$BATS_TEST_TMPDIR/shown"
    run ! grep -q $'\e' "$BATS_TEST_TMPDIR/shown"
}

@test "under mpirun a table has all its columns and no colours" {
    relayed "collrun price allreduce -n 8"
    grep -q 'bytes/rank.*% of bound' "$BATS_TEST_TMPDIR/shown"
}

@test "under mpirun a picture is for 80 columns and has no cursor control" {
    relayed "pipebench plan --schedule 1f1b -n 2 -m 2"
    tr -d '\r' <"$BATS_TEST_TMPDIR/shown" | grep -E '^stage 0' >"$BATS_TEST_TMPDIR/stage"
    [ "$(LC_ALL=C.UTF-8 wc -L <"$BATS_TEST_TMPDIR/stage")" -gt 40 ]
    relayed "pipebench run --schedule 1f1b -n 2 -m 2 --steps 2 --work sleep:20ms --watch"
    [ "$(grep -c '^step 1 of 2' "$BATS_TEST_TMPDIR/shown")" -eq 1 ]
    collrun run allreduce -n 2 --events "$BATS_TEST_TMPDIR/ring.jsonl"
    relayed "ringtop --from $BATS_TEST_TMPDIR/ring.jsonl"
    [ "$(grep -c 'ringtop  allreduce' "$BATS_TEST_TMPDIR/shown")" -eq 1 ]
}

@test "a bench fits 40 columns, and keeps size, time and wrong values" {
    fits 40 "collrun bench allreduce -n 2 -b 1K -e 1K"
    grep -qE '^ *size +time us +(algbw|busbw) GB/s +#wrong$' \
        "$BATS_TEST_TMPDIR/shown"
}

@test "a narrow bench keeps the columns by which its rows differ" {
    fits 80 "collrun bench all -n 2 --sizes 1K -i 5"
    grep -qE '^ *size +time us .* op +algo' "$BATS_TEST_TMPDIR/shown"
    fits 40 "collrun bench allreduce -n 2,3 --sizes 1K -i 5 --algo ring,one_shot"
    grep -qE '^ *size +time us .*algo +ranks$' "$BATS_TEST_TMPDIR/shown"
    fits 80 "collrun bench allreduce -n 2 --sizes 1K -i 5 --wire shm,tcp --repeat 2"
    grep -qE '^ *size +time us .*wire .*min +max' "$BATS_TEST_TMPDIR/shown"
}

@test "a bench has room for its largest size" {
    fits 60 "collrun bench allreduce -n 2 --sizes 1K,16M -i 2 --algo ring"
    grep -q '^    1024 ' "$BATS_TEST_TMPDIR/shown"
    grep -q '^16777216 ' "$BATS_TEST_TMPDIR/shown"
}

@test "rows of a bench and of tune are aligned, whatever the algorithm" {
    for command in "bench all -n 2 --algo all --sizes 1K -i 3" \
        "tune allreduce -n 2 -b 1K -e 1K -s 20ms --by algo --algo all --dry-run"; do
        # shellcheck disable=SC2086 # words
        collrun $command | grep -v '^#' >"$BATS_TEST_TMPDIR/shown"
        grep -q recursive_doubling "$BATS_TEST_TMPDIR/shown"
        [ "$(awk '{ print length }' "$BATS_TEST_TMPDIR/shown" | sort -u | wc -l)" -eq 1 ]
    done
}

@test "a narrow terminal keeps the compared column, the time" {
    fits 50 "collrun sim allreduce --topo labs/topologies/racks.topo"
    grep -q '^algo.*time us$' "$BATS_TEST_TMPDIR/shown"
    fits 40 "collrun price allreduce -n 8"
    grep -q '^algo.*time us$' "$BATS_TEST_TMPDIR/shown"
}

@test "no option of a help is wider than the terminal or broken inside a word" {
    for columns in 40 80; do
        for command in "ringtop -h" "ringtop --help"; do
            on_terminal $columns "$command" | sed '1,/^Options:/d;/^Exit/,$d' |
                tee "$BATS_TEST_TMPDIR/options"
            awk -v columns=$columns 'length > columns { exit 1 }' \
                "$BATS_TEST_TMPDIR/options"
        done
    done
    on_terminal 40 "ringtop -h" | grep -qx ' *Exit when the run has ended\.'
}

@test "help groups many options, and its usage line folds" {
    on_terminal 40 "psnode train -h" >"$BATS_TEST_TMPDIR/options"
    awk 'length > 40 { exit 1 }' "$BATS_TEST_TMPDIR/options"
    grep -q '^Usage: psnode train' "$BATS_TEST_TMPDIR/options"
    [ "$(grep -cxE '(Cluster|Training|Run and snapshots|Experiments):' \
        "$BATS_TEST_TMPDIR/options")" -eq 4 ]
}

@test "an unknown option without a command is named" {
    for tool in collrun psnode ringctl pipebench ringtop; do
        run -64 "$tool" --nosuch
        [[ $output = "$tool: unknown option --nosuch "* ]]
    done
}

# header COMMAND...: the names of its columns, one per line.
header() {
    "$@" | grep -v '^#' | sed -n '1s/  */\n/gp' | grep .
}

@test "-v shows all columns, and so does output to a file" {
    whole=$(header pipebench compare)
    [[ $whole == *messages*bytes ]]
    run -0 header on_terminal 60 "pipebench compare"
    [[ $output == schedule*bubble* && $output != *messages* ]]
    run -0 header on_terminal 60 "pipebench compare -v"
    while read -r column; do
        grep -qx "$column" <<<"$output"
    done <<<"$whole"
}
