#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# collrun bound: the least time on a topology, and the cut that limits it, and
# "% of optimum" in the tables of sim, price and bench.

setup_file() {
    bats_require_minimum_version 1.5.0
    BUILD=$(realpath "${B:-build}")
    LABS=$PWD/labs
    export BUILD LABS
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    RACKS=$LABS/topologies/racks.topo
}

collrun() {
    "$BUILD/collrun" "$@"
}

# column NAME < CSV: of its only row
column() {
    awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
        NR == 2 { print $at[name] }'
}

@test "an all-gather on racks is limited by what enters a host" {
    # 31/32 of 16 MiB at 1 GiB/s
    collrun bound allgather --topo "$RACKS" -b 16M -o csv >out.csv
    [ "$(column bytes_us <out.csv)" = 15136.72 ]
    [ "$(column latency_us <out.csv)" = 30.00 ]
    [ "$(column reached <out.csv)" = yes ]
    [ "$(column numerator <out.csv)" = 31 ]
    [ "$(column denominator <out.csv)" = $((32 << 30)) ]
    run -0 collrun bound allgather --topo "$RACKS" -b 16M
    [[ $output == *"31 of 32 blocks must pass host a0's NIC (in)"* ]]
}

@test "a slow uplink becomes the cut, and has its name" {
    printf 'topology t\nnic rate=1G\nrack r0: a[0-3]\nrack r1: b[0-3]\n%s\n' \
        'uplink r1 rate=100M' >slow.topo
    run -0 collrun bound reduce_scatter --topo slow.topo -b 80M
    [[ $output == *"4 of 8 blocks must pass rack r1's uplink"* ]]
    [[ $output == *"400000.00"* ]]
}

@test "a small buffer is limited by the latency" {
    collrun bound broadcast --topo "$RACKS" -b 4 -o csv >out.csv
    [ "$(column bound_us <out.csv)" = 30.00 ]
}

@test "no algorithm is faster than the bound of sim, and some reach it" {
    for op in allgather scatter alltoall; do
        collrun sim $op --topo "$RACKS" -b 16M -o csv >out.csv
        awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
            $at["optimum_percent"] > 100.05 { print; bad = 1 }
            $at["optimum_percent"] > 95 { best++ }
            END { exit bad || !best }' out.csv
    done
}

@test "price and bench compare with the topology that is named" {
    collrun price allgather --topo "$RACKS" -b 16M -o csv >out.csv
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["algo"] == "ring" { ring = $at["optimum_percent"] }
        $at["algo"] == "direct" { direct = $at["link_us"] }
        END { exit !(ring == "100.0" && direct == "46875.00") }' out.csv
    run -64 collrun price allgather --topo "$RACKS" -n 33
    [[ $output == *"33 ranks"* ]]
    printf 'topology here\ninner rate=1G\nrack r: host\n%s\n' \
        'host host ranks=2' >here.topo
    collrun bench allgather -n 2 -b 64K -e 64K -i 5 --topo here.topo -o csv \
        >out.csv
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { exit !($at["optimum_us"] > 20 && $at["optimum_percent"] > 0) }' \
        out.csv
}

@test "a file, an unknown word and a wrong rank are refused" {
    run -64 collrun bound nothing
    [[ $output == *"neither a collective nor a file"* ]]
    run -64 collrun bound mine.plan
    [[ $output == *"a bound is of a collective"* ]]
    run -64 collrun bound broadcast --topo "$RACKS" --root 32
    [[ $output == *"the root is 32"* ]]
    run -64 collrun bound allgather --topo "$RACKS" -n 33
    [[ $output == *"the topology has 32"* ]]
}

@test "a certificate is written, checked from its file, and refused when it was changed" {
    collrun bound allgather --topo "$RACKS" --certificate c >/dev/null
    collrun bound --check c >right
    grep -q '^# certificate: right' right
    # The bound is the same from the file alone.
    from_file=$(collrun bound --check c -o json | grep -o '"algbw_GBps": *[0-9.]*')
    [ "$from_file" = "$(collrun bound allgather --topo "$RACKS" -o json |
        grep -o '"algbw_GBps": *[0-9.]*')" ]
    for change in 's/^ratio blocks=\([0-9]*\)/ratio blocks=1\1/' \
        's/^\(on [0-9]* \)[0-9]*$/\11/' 's/^inside/inside 0/' \
        's/^\(edge [0-9]* [0-9]* \)[0-9]*$/\17/' '/^flow/d'; do
        sed "$change" c >changed
        run ! collrun bound --check changed
        [[ "$output" == *changed:* ]]
    done
    head -n 3 c >short
    run ! collrun bound --check short
    [[ "$output" == *'the certificate ends before its last edge'* ]]
    run ! collrun bound allreduce --topo "$RACKS" --certificate none
    [[ "$output" == *'has no certificate'* ]]
    [ ! -e none ]
    run ! collrun bound
    [[ "$output" == *'name a collective'* ]]
}
