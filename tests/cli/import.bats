#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# collrun import and export: right and wrong schedules in each format, which are
# written by hand in tests/formats, and imported plans at work.

# shellcheck disable=SC2154 # stderr, of run
setup_file() {
    bats_require_minimum_version 1.5.0
    COLLRUN=$(realpath "${COLLRUN:-build/collrun}")
    FORMATS=$(realpath tests/formats)
    export COLLRUN FORMATS
    export GRADWIRE_CALIBRATION=$BATS_FILE_TMPDIR/none.json
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
}

collrun() {
    timeout 60 "$COLLRUN" "$@"
}

# One-shot all-reduce of two ranks with scratch, channels and a copy.
scratch_plan() {
    cat <<'EOT'
allreduce ranks=2 chunks=2 name=scratch
step 0>1.1 c0..1 = @1  1>0.1 c0..1 = @1
step 0>0.2 c0 =
step 0.1>0.2 c0 +  0.1>0 c1 +  1.1>1 c0 +  1.1>1 c1 +
step 0.2>0 c0 =
EOT
}

@test "each sample in tests/formats imports, or is refused with its place and reason" {
    failed=0
    while IFS=$'\t' read -r file expected; do
        case $file in '#'*) continue ;; esac
        found=$(collrun import "$FORMATS/$file" 2>&1) && status=0 || status=$?
        case $status in 0 | 65) ;; *)
            echo "$file: status $status"
            failed=1
            ;;
        esac
        case $found in *"$expected"*) ;; *)
            echo "$file: expected \"$expected\", found \"$found\""
            failed=1
            ;;
        esac
    done <"$FORMATS/expected"
    [ "$failed" = 0 ]
    [ "$(find "$FORMATS" -type f ! -name expected | wc -l)" = \
        "$(grep -vc '^#' "$FORMATS/expected")" ]
}

@test "a refused schedule does not replace the file of --write, a right one does" {
    echo before >out.plan
    run ! collrun import "$FORMATS/cycle.xml" --write out.plan
    [ "$(cat out.plan)" = before ]
    collrun import "$FORMATS/pair.xml" --write out.plan
    [ "$(head -1 out.plan)" = "allreduce ranks=2 chunks=1 name=sample" ]
    [ "$(ls)" = out.plan ]
}

@test "plans with scratch and channels run over shm and tcp without a wrong element" {
    scratch_plan >scratch.plan
    for plan in scratch.plan "$FORMATS/rrcs-ring.xml" "$FORMATS/nop.xml"; do
        for wire in shm tcp; do
            run -0 collrun run allreduce --algo "$plan" -n 2 -b 100K --wire "$wire" -o json
            [[ $output == *'"wrong":0,'* ]]
        done
    done
    for op in allgather:channels.xml reduce_scatter:reduce-scatter.xml alltoall:alltoall-relay.xml; do
        for wire in shm tcp; do
            run -0 collrun run "${op%:*}" --algo "$FORMATS/${op#*:}" -b 100K --wire "$wire" -o json
            [[ $output == *'"wrong":0,'* ]]
        done
    done
}

@test "imported plans run in shared memory, in place, with memory of malloc, and by messages" {
    for file in pair.xml rrcs-ring.xml alltoall-relay.xml forest-allreduce.xml sccl-allreduce.json teccl-alltoall.json; do
        for how in "" --in-place --malloc --no-windows; do
            # shellcheck disable=SC2086 # no option or one
            run -0 collrun bench "$FORMATS/$file" -b 100K -e 100K -i 3 $how -o jsonl
            [[ $output == *'"wrong":0,'* ]]
        done
    done
}

@test "an average is divided once, also in scratch" {
    scratch_plan >scratch.plan
    run -0 collrun run allreduce --algo scratch.plan -n 2 -b 64K --redop avg -o json
    [[ $output == *'"wrong":0,'* ]]
}

@test "verify, price, sim, bench and --watch take an imported schedule by name" {
    file=$FORMATS/alltoall-relay.xml
    run -0 collrun verify "$file" -o csv
    [[ ${lines[1]} == *alltoall,3,9,*,none* ]]
    run -0 collrun price "$file" -b 1M -o csv
    [[ ${lines[1]} == *alltoall-relay.xml* ]]
    run -0 collrun sim "$file" -b 1M -o csv
    [[ ${lines[1]} == *alltoall-relay.xml* ]]
    run -0 collrun bench allreduce --algo "$FORMATS/pair.xml" -n 2 -b 1K -e 1K --iters 2 --warmup 1 -o csv
    [[ ${lines[1]} == *,0,* ]]
    run -0 collrun run allreduce --algo "$FORMATS/pair.xml" -n 2 -b 1K --watch
    [[ $output == *"[2=]"* ]]
}

@test "an exported plan imports as the same plan, without its notes as a right one" {
    scratch_plan >scratch.plan
    collrun plan scratch.plan >before.plan
    for format in msccl goal; do
        collrun export --to "$format" scratch.plan --write "out.$format"
        collrun import "out.$format" | cmp - before.plan
    done
    sed 's/ plan="[^"]*"//' out.msccl >plain.xml
    run -0 collrun verify plain.xml -o csv
    [[ ${lines[1]} == *none* ]]
}

@test "dot has an arrow per transfer; chakra has a trace per rank" {
    run -0 collrun export --to dot allreduce --algo ring -n 3
    [ "$(grep -c ' \[label="c' <<<"$output")" = 12 ]
    run ! collrun export --to chakra allreduce --algo ring -n 3
    [[ $output == *"chakra is one file per rank; add --write PREFIX"* ]]
    collrun export --to chakra allreduce --algo ring -n 3 --write ring
    [ "$(echo ring.*)" = "ring.0.et ring.1.et ring.2.et" ]
    [ "$(head -c 8 ring.0.et | od -An -tx1 | tr -d ' \n')" = 070a05302e302e34 ]
}

@test "export refuses what a format cannot have" {
    run ! collrun export --to msccl gather --algo binomial -n 4
    [[ $output == *"MSCCL has no gather; use goal, chakra or dot"* ]]
    run ! collrun export --to xml allreduce --algo ring -n 4
    [[ $output == *"msccl|goal|chakra|dot"* ]]
    run ! collrun export allreduce --algo ring -n 4
    [[ $output == *"add --to FORMAT"* ]]
    printf 'allreduce ranks=2 chunks=1\nstep 0>1 c0 +\n' >wrong.plan
    run ! collrun export --to goal wrong.plan
    [[ $output == *"lacks rank 1"* ]]
}

@test "tune measures an imported schedule, train uses one" {
    run -0 collrun tune allreduce --algo "$FORMATS/pair.xml,ring" -n 2 -b 1K -e 1K -o csv
    [[ $output == *pair.xml* ]]
    awk 'BEGIN { for (i = 0; i < 40; i++) {
        x = i % 7 - 3 + 0.5; y = i % 5 - 2 + 0.25
        printf "%s 1:%g 2:%g\n", (x + y > 0 ? "+1" : "-1"), x, y } }' >rows
    run -0 collrun train lr rows --algo "$FORMATS/pair.xml" -n 2 --epochs 2
}

# Two groups, each with a sum of its own; rank 4 has no data.
groups_plan() {
    cat <<'EOT'
custom ranks=5 chunks=2 name=groups
has   0 c0   1 c0   2 c1   3 c1
wants   0 c0   1 c0   2 c1   3 c1
step   0>4 c0 +   1>4 c0 +   2>4 c1 +   3>4 c1 +
step   4>0 c0 =   4>1 c0 =   4>2 c1 =   4>3 c1 =
EOT
}

@test "a custom plan is proved, priced, simulated and run, and its other chunks stay as they are" {
    groups_plan >groups.plan
    collrun import groups.plan | diff - groups.plan
    collrun verify groups.plan | grep -q 'custom *5 *2 *2 *8 *none'
    collrun price groups.plan -b 1M | grep -q '2097152'
    collrun sim custom --algo groups.plan -n 5 -b 1M | grep -q 'groups.plan'
    for wire in shm tcp; do
        for place in '' --in-place; do
            # shellcheck disable=SC2086 # no word, or one
            collrun run custom --algo groups.plan -n 5 -b 100k --wire $wire \
                $place | grep -q '^wrong  *0$'
        done
    done
    sed 's/   1>4 c0 +//' groups.plan >short.plan
    run ! --separate-stderr collrun verify short.plan
    [[ "$output$stderr" == *'rank 0 c0 lacks rank 1'* ]]
    for to in msccl goal; do
        run ! collrun export --to $to groups.plan
        [[ "$output" == *'custom; use chakra or dot'* ]]
    done
    collrun export --to dot groups.plan | grep -q digraph
    run ! collrun run custom -n 5
    [[ "$output" == *'custom has no algorithm of its own; add --algo FILE'* ]]
}

@test "imported custom algorithms run: all-to-next, and a gpu that only adds" {
    collrun run custom --algo "$FORMATS/alltonext.xml" -n 3 -b 30k |
        grep -q '^wrong  *0$'
    collrun run custom --algo "$FORMATS/custom-switch.xml" -n 3 -b 30k |
        grep -q '^wrong  *0$'
    collrun run alltoall --algo "$FORMATS/teccl-volumes.json" -n 3 -b 30k |
        grep -q '^wrong  *0$'
}
