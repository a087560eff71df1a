#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# collrun sim: plans on a cluster in virtual time; and the same clusters laid
# over the links of a run by ringctl.

setup_file() {
    bats_require_minimum_version 1.5.0
    BUILD=$(realpath "${B:-build}")
    LABS=$PWD/labs
    export BUILD LABS
    export XDG_STATE_HOME=$BATS_FILE_TMPDIR/state
    unset GRADWIRE_RUN GRADWIRE_RUNS
    # shellcheck disable=SC2046
    ${CC:-cc} -o "$BATS_FILE_TMPDIR/jsoncheck" tests/cli/jsoncheck.c \
        $(pkg-config --cflags --libs jansson)
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    RACKS=$LABS/topologies/racks.topo
    printf 'topology tiny\nnic rate=50M latency=1ms\nrack a: x y\n' >tiny.topo
}

teardown() {
    ringctl down --all >/dev/null 2>&1 || true
}

collrun() {
    "$BUILD/collrun" "$@"
}

ringctl() {
    "$BUILD/ringctl" "$@" </dev/null 3>&-
}

# The value at a path of a JSON document: json KEY... < document
json() {
    "$BATS_FILE_TMPDIR/jsoncheck" "$@"
}

# field ROW NAME: of out.csv, the row "algo,order".
field() {
    awk -F, -v row="$1" -v name="$2" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
        $at["algo"] "," $at["order"] == row { print $at[name] }' out.csv
}

# ---- collrun sim ----

@test "four racks of eight, 4:1: uplinks carry 15.5, 1.9375 and 1.5 buffers" {
    collrun sim allreduce --topo "$RACKS" --algo all -b 16M -o csv >out.csv
    [ "$(field ring,interleaved uplink_bytes)" -eq $((31 * 8 << 20)) ]
    [ "$(field ring,racks uplink_bytes)" -eq $((31 << 20)) ]
    [ "$(field hierarchical,racks uplink_bytes)" -eq $((24 << 20)) ]
    [ "$(field ring,interleaved uplink_buffers)" = 15.5000 ]
    [ "$(field ring,racks uplink_buffers)" = 1.9375 ]
    [ "$(field hierarchical,racks uplink_buffers)" = 1.5000 ]
    [ "$(field ring,interleaved uplinks_bytes)" -eq $((4 * 31 * 8 << 20)) ]
    [ -z "$(field hierarchical,interleaved rounds)" ]
    # The fastest comes first; the bad order is the slowest of the three.
    [ "$(field ring,racks times_best)" = 1.00 ]
    awk -v bad="$(field ring,interleaved time_us)" \
        -v good="$(field ring,racks time_us)" \
        -v levels="$(field hierarchical,racks time_us)" \
        'BEGIN { exit !(bad > 3 * good && bad > 3 * levels) }'
}

@test "two levels for every collective: what all racks send out, and rounds" {
    # (h-1) n of a tree, (p-g)/p n out of each of 4 racks, g(h-1)/p n of each rank
    while read -r op rounds buffers; do
        collrun sim "$op" --topo "$RACKS" -a hierarchical -b 16M -o csv >out.csv
        [ "$(field hierarchical,racks rounds)" = "$rounds" ]
        [ "$(field hierarchical,racks uplinks_bytes)" = $((buffers << 24)) ]
    done <<-END
	broadcast 5 3
	reduce 5 3
	allgather 10 3
	reduce_scatter 10 3
	alltoall 10 24
	END
    # A tree over all ranks that does not begin at rank 0 enters racks twice.
    collrun sim broadcast --topo "$RACKS" -r 5 -a all -b 16M -o csv >out.csv
    [ "$(field hierarchical,racks uplinks_bytes)" = $((3 << 24)) ]
    [ "$(field binomial,racks uplinks_bytes)" -gt $((3 << 24)) ]
}

@test "small messages: the hierarchy wins rounds, and so time" {
    collrun sim allreduce --topo "$RACKS" -b 4K -o csv >out.csv
    awk -v bad="$(field ring,interleaved time_us)" \
        -v good="$(field ring,racks time_us)" \
        -v levels="$(field hierarchical,racks time_us)" \
        'BEGIN { exit !(bad > good && good > 2 * levels) }'
}

@test "one rack takes the time of the ring's formula" {
    # 2(p-1)(alpha + 2 NICs + n/p beta), 14 x (2 + 10 + 128K/1G s)
    collrun sim allreduce -a ring -n 8 -b 1M --alpha 2us -o json >out
    [ "$(json rows 0 order <out)" = racks ]
    [ "$(json rows 0 rounds <out)" = 14 ]
    [ "$(json rows 0 uplink_bytes <out)" = 0 ]
    awk -v us="$(json rows 0 time_us <out)" \
        'BEGIN { exit !(us > 1876.98 && us < 1876.99) }'
    # And reducing each byte at 1G/s: 7 x 128K/1G s more.
    collrun sim allreduce -a ring -n 8 -b 1M --alpha 2us --reduce 1G -o json >out
    awk -v us="$(json rows 0 time_us <out)" \
        'BEGIN { exit !(us > 2731.47 && us < 2731.48) }'
}

@test "--links prints the bytes on each uplink, out and in" {
    collrun sim allreduce -t "$RACKS" -a ring --order interleaved --links \
        -o json >out
    [ "$(json schema <out)" = "collrun sim links" ]
    [ "$(json rows 0 link <out)" = "a uplink out" ]
    [ "$(json rows 7 link <out)" = "d uplink in" ]
    for row in 0 1 2 3 4 5 6 7; do
        [ "$(json rows $row link_bytes <out)" -eq $((31 << 19)) ]
        [ "$(json rows $row rate <out)" -eq $((2 << 30)) ]
    done
    run -0 collrun sim allreduce -t "$RACKS" -a ring --links -v
    [[ $output = *"c7 nic in"* ]]
}

@test "inside a server: the ring over direct links, and without them" {
    local server=$LABS/topologies/server-8.topo
    collrun sim allreduce -t "$server" -a ring -b 64M --order all \
        --without direct -o csv >out.csv
    [ "$(wc -l <out.csv)" = 7 ]
    # 2(p-1)(alpha + hop + n/p beta) over direct links. Over PCIe and QPI the
    # latter is always busy, and its hop counts once.
    awk -F, '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { row = $at["order"] "," $at["without"]
          us[row] = $at["time_us"]; qpi[row] = $at["qpi_buffers"]
          pcie[row] = $at["pcie_buffers"]; direct[row] = $at["direct_buffers"] }
        function near(a, b) { return a > b - 0.02 && a < b + 0.02 }
        END {
            exit !(near(us["ring,-"], 14 * (1 + 1 + 8 / 20 / 1024 * 1e6)) &&
                   near(us["ring,direct"], 14 * (1 + 8 / 9 / 1024 * 1e6) + 2.5) &&
                   qpi["ring,-"] == 0 && pcie["ring,-"] == 0 &&
                   direct["ring,-"] == 1.75 && qpi["racks,-"] == 1.75 &&
                   pcie["ring,direct"] == 1.75 && direct["ring,direct"] == 0)
        }' out.csv
    collrun sim allreduce -t "$server" --routes -o json >out
    [ "$(json schema <out)" = "collrun sim routes" ]
    [ "$(json rows 0 route <out)" = direct ]
    [ "$(json rows 4 route <out)" = "pcie pcie qpi pcie pcie" ]
    [ "$(json rows 4 to <out)" = gpu5 ]
    run -64 collrun sim allreduce -t "$server" --without tcp
    [[ $output = *"server-8: unknown links \`tcp\`"* ]]
    run -64 collrun sim allreduce -t "$server" -a ring --without direct --events x
}

@test "plan files, as operand or by --algo; wrong ones are refused" {
    collrun sim "$LABS/plans/ring-allreduce.plan" -t "$RACKS" -o json >out
    [ "$(json ranks <out)" = 32 ]
    [ "$(json rows 0 uplink_buffers <out)" = 1.9375 ]
    collrun sim allreduce -a "$LABS/plans/ring-allreduce-3.plan" -t "$RACKS" \
        -o json >out
    [ "$(json ranks <out)" = 3 ]
    run -64 collrun sim broadcast -a "$LABS/plans/ring-allreduce.plan" -t "$RACKS"
    [[ $output = *"is a plan for allreduce, not for broadcast"* ]]
    run -1 collrun sim "$LABS/plans/wrong-double.plan"
    [[ $output = *"1>2 c0 would count rank 0 twice"* ]]
}

@test "a list of algorithms and files: each in every order; a failing one is left out and named" {
    cp "$LABS/plans/ring-allreduce.plan" mine.plan
    run -0 --separate-stderr collrun sim allreduce -n 8 -t "$RACKS" -o jsonl \
        -a "ring,mine.plan,$LABS/plans/ring-allreduce-3.plan,ring"
    [ "$(grep -c '"algo":"mine.plan"' <<<"$output")" -eq 2 ]
    # the same plan has the same times
    [ "$(grep '"algo":"mine.plan"' <<<"$output" | grep -o '"time_us":[0-9.]*')" = \
        "$(grep '"algo":"ring"' <<<"$output" | grep -o '"time_us":[0-9.]*')" ]
    # shellcheck disable=SC2154 # bats sets it
    [[ $stderr = "collrun: left out: allreduce "*"ring-allreduce-3.plan does not support 8 ranks" ]]
    head -n -2 mine.plan >short.plan
    run --separate-stderr collrun sim allreduce -n 8 -a ring,short.plan,absent.plan -o json
    [ "$status" -eq 65 ]
    [ "$(json rows '#' <<<"$output")" = 1 ]
    [[ $stderr = *"absent.plan: No such file"*"short.plan, 8 ranks: "* ]]
    run -64 collrun sim broadcast --root 9 -n 4
    [[ $output = *"only 4 ranks, numbered from 0"* ]]
    [[ $output != *"left out"* ]]
    # this machine, too, has a time for a plan
    collrun sim allreduce -n 4 -w tcp -a ring,mine.plan -o jsonl >out.jsonl
    [ "$(grep -o '"time_us":[0-9.]*' out.jsonl | uniq | wc -l)" -eq 1 ]
    [ "$(grep -c '"time_us":[0-9]' out.jsonl)" -eq 2 ]
}

@test "a file without -n and --topo: as many hosts as its plan has ranks" {
    for ranks in 3 7; do
        collrun plan allreduce --algo ring -n $ranks >it.plan
        collrun sim it.plan -o json | tr -d '\n' >out.json
        [ "$(json hosts <out.json)" = $ranks ]
        collrun sim allreduce --algo it.plan -o json | tr -d '\n' >out.json
        [ "$(json ranks <out.json)" = $ranks ]
    done
    collrun sim "$LABS/plans/ring-allreduce.plan" -o json | tr -d '\n' >out.json
    [ "$(json hosts <out.json)" = 4 ]
    run -65 collrun sim it.plan -n 3
}

@test "every collective, on every order" {
    for op in broadcast reduce gather scatter allgather reduce_scatter \
        alltoall barrier; do
        collrun sim $op -t "$RACKS" -n 12 -b 64K -o csv >out.csv
        [ "$(wc -l <out.csv)" -gt 2 ]
        grep -q interleaved out.csv
    done
}

@test "the events are those of a run, and ringtop plays them" {
    collrun sim allreduce -t "$RACKS" -n 8 -a ring --events e.jsonl >out
    [ "$(grep -c '"kind":"send"' e.jsonl)" -eq 112 ]
    [ "$(grep -c '"kind":"apply"' e.jsonl)" -eq 112 ]
    [ "$(grep -c '"kind":"op_end"' e.jsonl)" -eq 8 ]
    sed 's/.*"time_ns":\([0-9]*\).*/\1/' e.jsonl >order.txt
    sort -n -c order.txt
    run -0 "$BUILD/ringtop" --from e.jsonl --batch -n 1 --size 80x24
    [[ $output = *"allreduce 1M"* ]]
    run -64 collrun sim allreduce -t "$RACKS" --events e.jsonl
    [[ $output = *"--events records one run"* ]]
    run ! collrun sim allreduce -a ring -n 4 --events /nowhere/e.jsonl
    [[ $output = *"/nowhere/e.jsonl"* ]]
}

@test "a torus and a fat tree, in a word: the all-to-all fills their links" {
    # 8x8: a link carries p k/8 = 64 blocks.
    collrun sim alltoall -a linear -t torus:8x8 -b 64K -d u8 --alpha 0us -o json >out
    [ "$(json ranks <out)" = 64 ]
    [ "$(json rows 0 uplink_bytes <out)" -eq $((64 * 1024)) ]
    # Four to one: o (p - m) blocks of a NIC's time, and the latency of two
    # NICs.
    collrun sim alltoall -a linear -t fat-tree:k=8,levels=2,oversubscription=4:1 \
        -b 32K -d u8 --alpha 0us -o json >out
    awk -v us="$(json rows 0 time_us <out)" 'BEGIN {
        expected = 4 * (32 - 4) * 1024 / 1073.741824 + 10
        exit !(us > expected - 0.02 && us < expected + 0.02) }'
    run -65 collrun sim alltoall -t torus:8x
    [[ $output = *"torus:8x:3:9: expected a size, such as 8x8"* ]]
    run -0 collrun sim allreduce -t torus:4x4 -a ring --links
    [[ $output = *"h15 -y"* ]]
}

# tests/unit/test_traffic_bulk.c has more algorithms of 100,000 ranks.
@test "1,024 ranks of a recursive doubling, 100,000 of a dissemination" {
    collrun sim barrier -a dissemination -n 100000 --alpha 2us -o json >out
    [ "$(json rows 0 rounds <out)" = 17 ]
    [ "$(json rows 0 time_us <out)" = 204.0 ] ||
        [ "$(json rows 0 time_us <out)" = 204 ]
    collrun sim allgather -a bruck -n 10000 -b 10000 -d u8 -o json >out
    [ "$(json rows 0 messages <out)" -eq 140000 ]
    [ "$(json rows 0 total_bytes <out)" -eq $((10000 * 9999)) ]
    # 10 rounds of 1 + 10 us, and 1023 KiB out of each NIC.
    collrun sim allgather -a recursive_doubling -n 1024 -b 1M -o json >out
    awk -v us="$(json rows 0 time_us <out)" 'BEGIN {
        expected = 10 * 11 + 1023 * 1024 / 1073.741824
        exit !(us > expected - 0.1 && us < expected + 0.1) }'
}

# Before anything is built, since so many messages would take 1.6 GiB.
@test "too large simulations are refused before they take memory" {
    [ -z "${SAN-}" ] || skip "a sanitizer takes addresses of its own"
    limited() { (
        ulimit -v 1200000
        collrun sim "$@"
    ); }
    run -64 limited allreduce -a ring -n 16384
    [[ $output = *"ring of 16384 ranks sends too many chunks to simulate"* ]]
    run -64 limited allgather -a ring -n 8192
    [[ $output = *"ring of 8192 ranks sends more than 41943040 messages"* ]]
}

# ALGO TIME lines of a command's CSV: the algorithm and that column.
times() {
    awk -F, -v column="$1" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { print $1, $(at[column]) }' | sort
}

# Calibrated or built in, the costs are those of the breakdown.
@test "--wire: this machine, and the simulation takes the time of the cost model" {
    export GRADWIRE_CALIBRATION=$BATS_TEST_TMPDIR/none.json
    for wire in shm tcp; do
        for op in allreduce broadcast alltoall barrier; do
            collrun sim $op -w $wire -n 6 -b 60K -o csv >sim.csv
            collrun price $op -w $wire -n 6 -b 60K -o csv >price.csv
            times time_us <sim.csv >sim
            times predicted_us <price.csv >price
            [ "$(wc -l <sim)" -gt 1 ]
            join sim price >both
            [ "$(wc -l <both)" -eq "$(wc -l <price)" ]
            awk '$2 <= 0 || $2 > $3 + 0.02 || $2 < $3 - 0.02 { bad = 1 }
                END { exit bad }' both
        done
    done
    collrun sim allreduce -w tcp -n 4 -a ring --events e.jsonl -o csv >sim.csv
    times time_us <sim.csv >sim
    end=$(sed 's/.*"time_ns":\([0-9]*\).*/\1/' e.jsonl | sort -n | tail -n 1)
    awk -v end="$end" '{ off = $2 - end / 1000; exit off > 0.02 || off < -0.02 }' sim
}

@test "--wire is about calls of the library, and one machine" {
    run -64 collrun sim allreduce -w shm --topo "$RACKS"
    [[ $output == *"--wire simulates this machine; remove --topo"* ]]
    run -64 collrun sim allreduce -w shm -n 100
    [[ $output == *"at most 64 ranks"* ]]
}

@test "SimGrid agrees in thirteen cases to 0.1 %, and on seven imported plans to 1 %" {
    pkg-config --exists simgrid ||
        skip "SimGrid is not installed (Debian: libsimgrid-dev)"
    run -0 make --no-print-directory -C "$LABS/.." B="$BUILD" check-simgrid
    echo "$output"
    [ "$(grep -vE '\.(xml|json)' <<<"$output" |
        grep -cE '(star|racks|torus) .* -?0\.0')" -eq 13 ]
    [ "$(grep -cE '\.(xml|json) .* -?0\.[0-9]*$' <<<"$output")" -eq 7 ]
}

@test "a mistake in a topology is reported with its place" {
    printf 'topology bad\nrack a: x y\norder x z\n' >bad.topo
    run -65 collrun sim allreduce --topo bad.topo
    [ "$output" = "collrun: bad.topo:3:9: host \`z\` is not in a rack above" ]
    printf 'topology bad\nuplink oversubscription=4\nrack a: x\n' >bad.topo
    run -65 collrun sim allreduce --topo bad.topo
    [[ $output = *"bad.topo:2:26: expected \`:\`, as in 4:1"* ]]
    run -65 collrun sim allreduce --topo none.topo
    [[ $output = *"none.topo: No such file"* ]]
    run -64 collrun sim allreduce --topo tiny.topo -n 3 -a ring
    [[ $output = *"the plan is for 3 ranks, but topology tiny has 2"* ]]
    run -64 collrun sim allreduce --order backwards
}

@test "topologies of the labs and of the manual are read" {
    for file in "$LABS"/topologies/*.topo; do
        collrun sim allreduce --topo "$file" -b 64K >/dev/null
    done
}

# ---- ringctl ----

@test "up --topo: links have the delays and rates of their paths, also after a restart" {
    printf 'topology two\nnic rate=80M latency=50us\nuplink latency=100us\n' >two.topo
    printf 'rack a: a[0-1]\nrack b: b[0-1]\nnic b0 rate=20M\n' >>two.topo
    run -0 ringctl up 3 --topo two.topo
    [[ ${lines[0]} = *"ring 0 1 2, epoch 1, topology two" ]]
    [ "$(ringctl link 0 1)" = "link 0>1: delay 100us, rate 80M/s, up" ]
    [ "$(ringctl link 1 2)" = "link 1>2: delay 300us, rate 20M/s, up" ]
    ringctl link 0 1 loss 1%
    ringctl kill 1
    ringctl restart 1
    ringctl wait alive==3 --timeout 20s
    [ "$(ringctl link 0 1)" = "link 0>1: delay 100us, rate 80M/s, loss 1%, up" ]
    # A running run gets another topology; losses stay.
    run -0 ringctl topo "$RACKS"
    [[ $output = "the links of 3 nodes follow topology racks: delay 10 us, rate 1G/s: epoch "* ]]
    [ "$(ringctl link 0 1)" = "link 0>1: delay 10us, rate 1G/s, loss 1%, up" ]
    [ "$(ringctl status -o json | json topology)" = racks ]
    # A node that comes later gets the link profiles of its number.
    ringctl add
    [ "$(ringctl link 3 0)" = "link 3>0: delay 10us, rate 1G/s, up" ]
    run -64 ringctl topo tiny.topo
    [[ $output = *"tiny.topo has 2 ranks, but the run has 4 nodes" ]]
    [ "$(ringctl link 3 0)" = "link 3>0: delay 10us, rate 1G/s, up" ]
}

@test "up --topo with a bad file starts nothing" {
    run -64 ringctl up 3 --topo tiny.topo
    [[ $output = *"tiny.topo has 2 ranks, but the run has 3 nodes" ]]
    printf 'topology bad\nrack a: x y\nnic z rate=1\n' >bad.topo
    run -65 ringctl up 2 --topo bad.topo
    [[ $output = *"bad.topo:3:5: host \`z\` is not in a rack above" ]]
    [ "$(ringctl ls -o csv | wc -l)" -eq 1 ]
}
