#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# collrun bench and calibrate: correct results over every wire, the columns and
# fields that programs depend on, and the refusals.

setup_file() {
    bats_require_minimum_version 1.5.0
    COLLRUN=$(realpath "${COLLRUN:-build/collrun}")
    PLANS=$PWD/labs/plans
    export COLLRUN PLANS
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    export GRADWIRE_CALIBRATION=$BATS_TEST_TMPDIR/costs.json
}

# Few calls: these tests check results, not times.
bench() {
    "$COLLRUN" bench "$@" --iters 2 --warmup 1
}

# Every row is right, and there are $1 of them (any number when empty).
all_right() {
    rows=$(grep -c '"time_us":' out.jsonl)
    [ "$rows" -gt 0 ]
    [ -z "$1" ] || [ "$rows" -eq "$1" ]
    [ "$(grep -c '"wrong":0[,}]' out.jsonl)" -eq "$rows" ]
}

every_algorithm() {
    # all support 4 ranks; a barrier has one size, the others two
    "$COLLRUN" list -o jsonl >list.jsonl
    algorithms=$(grep -c '"algo":' list.jsonl)
    barriers=$(grep -c '"op":"barrier"' list.jsonl)
    bench all --algo all -n 4 -b 1K -e 64K -f 64 --wire "$@" -o jsonl >out.jsonl
    all_right $((2 * algorithms - barriers))
}

@test "shm: every algorithm of every operation is right" {
    every_algorithm shm
}

@test "shm without windows: every algorithm is right" {
    every_algorithm shm --no-windows
}

@test "ipc: every algorithm of every operation is right" {
    every_algorithm ipc
}

@test "tcp: every algorithm of every operation is right" {
    every_algorithm tcp
}

@test "in place, and in memory from malloc" {
    for how in --in-place --malloc "--malloc --in-place"; do
        # shellcheck disable=SC2086
        bench all --algo all -n 3 -b 8K -e 8K $how -o jsonl >out.jsonl
        all_right
    done
}

@test "one rank, two, and more than there are CPUs" {
    for ranks in 1 2 7; do
        bench all -n "$ranks" -b 1 -e 4K -f 64 -o jsonl >out.jsonl
        all_right
    done
}

@test "every type" {
    for type in i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64; do
        bench allreduce -n 3 -b 4K -e 4K -d "$type" -o jsonl >out.jsonl
        all_right 1
        grep -q "\"dtype\":\"$type\"" out.jsonl
    done
}

@test "every reduction" {
    for redop in sum prod min max avg land lor band bor; do
        bench all -a ring -n 3 -b 4K -e 4K -d i32 --redop "$redop" \
            -o jsonl >out.jsonl
        all_right
        grep -q "\"redop\":\"$redop\"" out.jsonl
    done
}

@test "a root other than rank 0" {
    bench all -n 3 -b 4K -e 4K --root 2 -o jsonl >out.jsonl
    all_right 11
    [ "$(grep -c '"root":2,' out.jsonl)" -eq 4 ]
    [ "$(grep -c '"root":-1,' out.jsonl)" -eq 7 ]
}

@test "the fields of a row" {
    bench allgather -n 3 -b 100 -e 100 -o json >out.json
    for field in op algo wire dtype redop ranks root bytes count time_us \
        p50_us p99_us algbw_GBps busbw_GBps predicted_us bound_us wrong; do
        [ "$(grep -o "\"$field\":" out.json | wc -l)" -eq 1 ]
    done
    # 100 bytes in 3 blocks of floats: 8 per block, 96 in total
    grep -q '"bytes":96,"count":8,' out.json
    grep -q '"redop":"none","root":-1,' out.json
    run ! grep percent out.json
}

@test "the table begins with the columns of nccl-tests" {
    bench allreduce -n 2 -b 1K -e 1K >out.txt
    grep -v '^#' out.txt | sed -n 1p | tr -s ' ' >head.txt
    grep -Eq '^ ?size count type redop root time us algbw GB/s busbw GB/s #wrong' \
        head.txt
    grep -q 'p50 p99 predicted bound % of bound' head.txt
    # busbw is algbw for two ranks
    grep -v '^#' out.txt | sed -n 2p | awk '{ exit !($7 == $8 && $9 == 0) }'
}

@test "more than 100 % of the bound has its reason" {
    echo '{"wires":{"ipc":{"alpha_us":1e6}}}' >"$GRADWIRE_CALIBRATION"
    bench allreduce -n 2 -a ring -b 1K -e 1K --wire ipc >out.txt
    grep -q '^# bound: over 100 %: this machine is faster than the recorded costs of ipc; "collrun calibrate" measures them$' out.txt
    rm "$GRADWIRE_CALIBRATION"
    bench allreduce -n 2 -a ring -b 1K -e 1K --wire ipc -o json >out.json
    run ! grep 'over 100' out.json
}

@test "sizes grow by the factor up to the end" {
    bench broadcast -n 2 -b 1K -e 20K -f 4 -o csv >out.csv
    # shellcheck disable=SC2046
    set -- $(sed 1d out.csv | grep -Eo '^(1,)?(1024|4096|16384),' | wc -l)
    [ "$1" -eq 3 ]
    [ "$(wc -l <out.csv)" -eq 4 ]
}

@test "sizes by name: one row each, in their order" {
    bench allgather -n 3 --sizes 4K,100,101,12 --sample 1ms -o csv >out.csv
    sed 1d out.csv | grep -Eo '"?(4092|96|12)"?,(341|8|1),f32' >rows
    printf '%s\n' 4092,341,f32 96,8,f32 96,8,f32 12,1,f32 | diff - rows
    run -64 bench allgather --sizes 4K,
    [[ $output = *"--sizes"* ]]
    run -64 bench allgather --sizes 0
    run -64 bench wire --sizes 4K
}

@test "--why explains the choice" {
    run -0 bench allreduce -n 2 -b 1K -e 1K --why
    [[ $output = *"predicted"* ]]
    [[ $output = *"built in"* ]]
}

@test "wrong options are refused with status 64" {
    run -64 bench allreduse
    [[ $output = *"did you mean \"allreduce\""* ]]
    run -64 bench allreduce --algo rign
    [[ $output = *rign* ]]
    run -64 bench allgather --algo neighbor -n 5
    [[ $output = *"does not support 5 ranks"* ]]
    run -64 bench allreduce --redop band
    run -64 bench allreduce -n 0
    run -64 bench broadcast -n 2 --root 2
    run -64 bench allreduce -b 2K -e 1K
    run -64 bench allreduce -f 1
    run -65 bench ring.plan
    [[ $output = *"ring.plan: No such file"* ]]
}

@test "a plan file: as an operand or an algorithm, verified, with its own ranks and root" {
    bench "$PLANS/ring-allreduce-3.plan" -b 1K -e 64K -f 64 -o jsonl >out.jsonl
    all_right 2
    grep -q '"op":"allreduce","algo":"[^"]*ring-allreduce-3.plan",.*"ranks":3,' out.jsonl
    [ "$(grep -c '"predicted_us":null' out.jsonl)" -eq 0 ]
    bench allreduce -a "$PLANS/ring-allreduce.plan" -n 2 -w tcp -b 1K -e 1K -o jsonl >out.jsonl
    all_right 1
    printf 'broadcast ranks=3 chunks=1 root=2\nstep 2>0 c0 =  2>1 c0 =\n' >ring.plan
    bench ring.plan -b 1K -e 1K -o jsonl >out.jsonl
    all_right 1
    grep -q '"root":2,.*"op":"broadcast","algo":"ring.plan"' out.jsonl
    run -1 bench reduce -a "$PLANS/wrong-double.plan" -n 3
    [[ $output = *"step 2: 1>2 c0 would count rank 0 twice"* ]]
    run -64 bench allreduce -a ring.plan
    [[ $output = *"ring.plan is a plan for broadcast, not for allreduce"* ]]
    run -64 bench ring.plan --root 1
    run -64 bench ring.plan --algo binomial
}

@test "a list of algorithms and files: each with its own root; a failing one is left out and named" {
    cp "$PLANS/ring-allreduce.plan" mine.plan
    bench allreduce -n 2,3 --algo "all,mine.plan,$PLANS/ring-allreduce-3.plan,ring" --sizes 1K \
        -o jsonl >out.jsonl 2>err
    all=$(("$("$COLLRUN" list allreduce -o jsonl | wc -l)" * 2 - 1)) # swing: an even number
    all_right $((all + 3))
    [ "$(grep -c '"algo":"mine.plan"' out.jsonl)" -eq 2 ]
    [ "$(grep -c 'left out: allreduce .*ring-allreduce-3.plan does not support 2 ranks' err)" -eq 1 ]
    bench allreduce -n 2,3 --algo mine.plan,ring --sizes 1K --compare out.jsonl -o json >again
    [[ $(tr -d '\n' <again) != *unpaired* ]]
    printf 'broadcast ranks=3 chunks=1 root=2\nstep 2>0 c0 =  2>1 c0 =\n' >to.plan
    bench broadcast -n 3 --algo to.plan,binomial -b 1K -e 1K -o jsonl >out.jsonl
    all_right 2
    grep -q '"root":2,.*"algo":"to.plan"' out.jsonl
    grep -q '"root":0,.*"algo":"binomial"' out.jsonl
    # a wrong plan does not end the others; the exit status is its
    run -1 --separate-stderr bench reduce -n 3 -a "direct,$PLANS/wrong-double.plan" -b 1K -e 1K -o jsonl
    [ "$(grep -c '"time_us"' <<<"$output")" -eq 1 ]
    # shellcheck disable=SC2154 # bats sets it
    [[ $stderr = *"wrong-double.plan, 3 ranks: step 2: 1>2 c0 would count rank 0 twice"* ]]
    # all collectives that a word names
    bench all -n 3 -a ring,to.plan -b 1K -e 1K -o jsonl >out.jsonl
    grep -q '"op":"broadcast","algo":"to.plan"' out.jsonl
    grep -q '"op":"allgather","algo":"ring"' out.jsonl
    run -64 bench all -n 3 -a ring,rign
    [[ $output = *'no collective has an algorithm "rign"'* ]]
    run -64 bench allreduce -n 3 -a to.plan,ring
    [[ $output = *"to.plan is a plan for broadcast, not for allreduce"* ]]
}

@test "lists of ranks and wires: each combination is started as often as --repeat says" {
    bench allreduce -n 2,3 --wire shm,tcp --repeat 2 --sizes 64,1K -o jsonl >out.jsonl
    all_right 8
    for wire in shm tcp; do
        for ranks in 2 3; do
            [ "$(grep -c "\"wire\":\"$wire\",\"ranks\":$ranks,.*\"repeats\":2,\"time_min_us\":[0-9]" out.jsonl)" -eq 2 ]
        done
    done
    # the columns that differ, and those of the repeats, are in the table
    bench allreduce -n 2,3 --sizes 64 --repeat 2 >out.txt
    grep -v '^#' out.txt | head -1 | tr -s ' ' >head.txt
    grep -q 'wire ranks .* repeats min max spread' head.txt
    run -64 bench allreduce --wire shm,carrier
    [[ $output = *'--wire must be one of shm|ipc|tcp|zmq|verbs'*'"shm,carrier"'* ]]
    run -64 bench broadcast -n 4,2 --root 2
    [[ $output = *"--root 2: must be less than the number of ranks, 2"* ]]
    run -64 env PMIX_RANK=0 OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 \
        OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=1 \
        "$COLLRUN" bench allreduce --repeat 2
    [[ $output = *"has started the processes"*"--alone"* ]]
}

@test "--compare: ratios to the median of the same rows, and sentences for the others" {
    row='{"op":"allreduce","algo":"ring","wire":"shm","dtype":"f32","redop":"sum","root":-1'
    for us in 4000 1000 2000; do
        echo "$row,\"ranks\":2,\"bytes\":64,\"time_us\":$us}"
    done >base.jsonl
    echo "$row,\"ranks\":8,\"bytes\":64,\"time_us\":5}" >>base.jsonl
    echo '{"schema":"collrun bench","status":0}' >>base.jsonl
    bench allreduce -a ring -n 2 --sizes 64,1K --compare base.jsonl -o jsonl >out.jsonl
    all_right 2
    grep -q '"baseline":"base.jsonl"' out.jsonl
    sed -n '/"bytes":64,/s/.*"time_us":\([0-9.e-]*\),.*"baseline_us":\([0-9]*\),"ratio":\([0-9.e-]*\),.*/\1 \2 \3/p' \
        out.jsonl >ratio
    awk '{ wanted = $1 / 2000; found = 1
           exit !($2 == 2000 && $3 < wanted * 1.001 && $3 > wanted * .999) }
         END { exit !found }' ratio
    grep -q '"bytes":1024,.*"baseline_us":null,"ratio":null' out.jsonl
    tail -1 out.jsonl | grep -q '"ratio_mean":'
    tail -1 out.jsonl |
        grep -qF '"unpaired":"1 rows have no partner in base.jsonl: allreduce ring 1K, shm, 2 ranks"'
    tail -1 out.jsonl |
        grep -qF '"missing":"1 rows were not measured again from base.jsonl: allreduce ring 64, shm, 8 ranks"'
    # another type is another measurement; the output of bench can be compared with
    bench allreduce -a ring -n 2 --sizes 64 -d i32 --compare base.jsonl | grep -q '^# unpaired: 1 '
    run -0 bench allreduce -a ring -n 2 --sizes 64,1K --compare out.jsonl
    [[ $output != *"unpaired"* && $output = *baseline*ratio* ]]
    echo '{"time_us":3}' >other.jsonl
    run -65 bench allreduce -n 2 --compare other.jsonl
    [[ $output = *"other.jsonl: no rows of collrun bench"* ]]
    run -65 bench allreduce -n 2 --compare none.jsonl
}

@test "calibrate prints one row per wire and stores it" {
    local wire=(--wire shm) rows=1
    if [ -n "${SLOW-}" ]; then # each takes 10 s
        wire=() rows=3
        run -0 "$COLLRUN" calibrate --wire ipc -n 2 --dry-run -o jsonl
        [[ $output = *'"wire":"ipc"'* ]]
        [ ! -e costs.json ]
    fi
    "$COLLRUN" calibrate -n 2 "${wire[@]}" -o jsonl >out.jsonl
    [ "$(grep -c '"alpha_us":' out.jsonl)" -eq $rows ]
    [ -s costs.json ]
    run -0 bench allreduce -n 2 -b 1K -e 1K --why
    [[ $output = *"measured"* ]]
    # the cost breakdown of the chosen algorithm
    run -0 "$COLLRUN" price allreduce -n 2 -b 1K --wire shm --why
    [[ $output = *"# first: "*" us = "* ]]
    run -64 "$COLLRUN" calibrate -n 1
}

# Both ranks of the wire, and the socket, have reported a time for each size.
@test "bench wire: each wire and a raw socket, at any size" {
    for wire in shm ipc tcp zmq; do
        run -0 --separate-stderr "$COLLRUN" bench wire --wire "$wire" \
            -b 1 -e 300K -f 547 --seconds 2ms -o jsonl
        [ "${#lines[@]}" -eq 3 ]
        [[ ${lines[0]} == *'"wire":"'$wire'","bytes":1,'* ]]
        [[ ${lines[2]} == *'"bytes":299209,'* ]]
        for line in "${lines[@]}"; do
            for name in GBps raw_GBps share us raw_us; do
                [[ $line =~ \"$name\":[0-9]*[1-9] || $line =~ \"$name\":0\.0*[1-9] ]]
            done
            # only ZeroMQ hands messages to a thread of its own
            if [ "$wire" = zmq ]; then
                [[ $line =~ \"hand_over_us\":[0-9.]*[1-9] ]]
            else
                [[ $line = *'"hand_over_us":null'* ]]
            fi
        done
    done
    run -64 "$COLLRUN" bench wire -b 8 -e 4
    for option in "-n 2,4" "-a ring" --sizes=8; do
        # shellcheck disable=SC2086 # words
        run -64 "$COLLRUN" bench wire $option
        [[ $output = *"is not supported"* || $output = *"are not supported, because"* ]]
    done
    "$COLLRUN" bench wire --wire tcp,shm -b 64 -e 64 --seconds 2ms -o csv >out.csv
    [ "$(cut -d, -f2 out.csv | tr '\n' ' ')" = "wire tcp shm " ]
}

# The bench prints the speed of the cipher. The suites wire_key and stream test
# that a keyed wire seals its data.
@test "bench wire: with a key the speed of its cipher is printed, too" {
    "$COLLRUN" bench wire --wire tcp -b 1M -e 1M --seconds 2ms -o csv >plain
    grep -q 'cipher_GBps,provenance' plain
    [[ $(sed -n 2p plain) = *,,20* ]]
    "${COLLRUN%collrun}ringctl" keygen "$BATS_TEST_TMPDIR/key"
    "$COLLRUN" bench wire --wire tcp -b 1M -e 1M --seconds 2ms -o csv \
        --key "$BATS_TEST_TMPDIR/key" >secret
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
        NR == 2 { speed = $at["GBps"]; cipher = $at["cipher_GBps"] }
        END { print speed, cipher; exit !(speed > 0 && cipher > 0) }' secret
}

# Rank 0 has sent all its data and ended, maybe before rank 3 has read its
# greeting.
@test "bench: a root may leave at once" {
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        run -0 "$COLLRUN" bench broadcast -w ipc -n 4 -b 64 -e 64 -i 2
    done
}
