#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# collrun synth: plans that reach the bound of a topology, and that every other
# command takes.

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

# fastest < CSV: the first row's algorithm, and its percentage of the optimum
fastest() {
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
        NR == 2 { print $at["algo"], $at["optimum_percent"] }'
}

@test "on racks a plan is within 2 % of the bound, and faster than every algorithm" {
    for op in allgather reduce_scatter allreduce; do
        collrun synth $op --topo "$RACKS" -b 64M --parts 16 >best.plan
        collrun sim $op --topo "$RACKS" -b 64M -a all,best.plan --order racks \
            -o csv >out.csv
        fastest <out.csv | awk '{ exit !($1 ~ /best.plan/ && $2 > 98) }'
    done
}

@test "a broadcast and a reduction are far faster than every algorithm" {
    for op in broadcast reduce; do
        collrun synth $op --topo "$RACKS" -b 16M --trees 8 --parts 32 >best.plan
        collrun sim $op --topo "$RACKS" -b 16M -a all,best.plan --order racks \
            -o csv >out.csv
        fastest <out.csv | awk '{ exit !($1 ~ /best.plan/ && $2 > 70) }'
    done
}

@test "a slow link changes the plan, and the new one avoids it" {
    printf 'topology t\nserver s: accelerator g[0-3]\n%s\n%s\n%s\n' \
        'link x g0: g1 g2 g3 rate=1G' 'link x g1: g2 g3 rate=1G' \
        'link x g2: g3 rate=1G' >even.topo
    sed 's/g2: g3 rate=1G/g2: g3 rate=100M/' even.topo >slow.topo
    collrun synth allgather --topo even.topo -b 64M >even.plan
    collrun synth allgather --topo slow.topo -b 64M >slow.plan
    collrun sim allgather --topo slow.topo -b 64M -a even.plan,slow.plan \
        -o csv >out.csv
    fastest <out.csv | awk '{ exit !($1 ~ /slow.plan/ && $2 > 97) }'
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["algo"] ~ /even/ { exit !($at["optimum_percent"] < 60) }' out.csv
}

@test "a plan is proved, priced and run like any other" {
    collrun synth allreduce -n 4 -b 1M --plan best.plan -o csv >out.csv
    grep -q '^plan,trees,parts' out.csv
    run -0 collrun verify best.plan
    run -0 collrun price best.plan -b 1M
    run -0 collrun run best.plan -b 64K
    [[ $output == *"right"* || $output == *" 0"* ]]
}

@test "server meshes, rings, fat trees and hosts with several ranks have plans" {
    printf 'topology here\ninner rate=10G\nrack r: host\nhost host ranks=4\n' \
        >here.topo
    for topo in "$LABS"/topologies/{server-8,pair,ethernet}.topo torus:4x2 \
        fat-tree:k=2 here.topo; do
        collrun synth allgather --topo "$topo" -b 1M --parts 2 >a.plan
        run -0 collrun verify a.plan
    done
}

# Between two hosts of a fat tree there is one route, and GPUs with a direct link do
# not use PCIe. Plans by splitting reach 76, 80 and 72 % there.
@test "along fixed routes a plan comes near to the bound, and the search ends" {
    for row in 'fat-tree 95 2 64' 'dgx-a100 90 2 64' 'server-8 80 16 16'; do
        read -r topo percent trees parts <<<"$row"
        collrun synth allgather --topo "$LABS/topologies/$topo.topo" -b 256M \
            --trees "$trees" --parts "$parts" -p a.plan -o csv >a.csv
        awk -F, -v least="$percent" 'NR == 1 {
                for (i = 1; i <= NF; i++) at[$i] = i }
            NR == 2 { exit !($at["optimum_percent"] >= least) }' a.csv
    done
    timeout 60 "$BUILD/collrun" synth allgather \
        --topo "$LABS/topologies/mi250.topo" --trees 4 --parts 1 >a.plan
    collrun verify a.plan
}

# Built-in costs are the same on every machine, calibrated ones are not.
@test "for this machine, no algorithm is predicted to be faster than the plan" {
    export GRADWIRE_CALIBRATION=none.json
    for op in broadcast reduce allreduce gather scatter allgather \
        reduce_scatter alltoall; do
        collrun synth $op --wire shm -n 4 -b 16M >here.plan
        run -0 collrun verify here.plan
        collrun price $op --wire shm -n 4 -b 16M -a all,here.plan -o csv >out.csv
        awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
            { us = $at["predicted_us"] }
            $at["algo"] ~ /here.plan/ { here = us; next }
            !least || us < least { least = us }
            END { exit !(here > 0 && here <= least) }' out.csv
    done
    run -0 collrun run here.plan -b 64K
}

@test "for this machine, a root is kept, and trees are made if requested" {
    collrun synth reduce --wire shm -n 3 -r 2 -b 1M >root.plan
    grep -q 'root=2' root.plan
    collrun synth broadcast --wire shm -n 4 -b 1M --trees 2 -p a.plan -o csv >out.csv
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { exit $at["trees"] != 2 }' out.csv
    collrun synth allgather --wire tcp -n 3 -b 1M >tcp.plan
    run -0 collrun verify tcp.plan
    run -64 collrun synth allgather --wire shm --topo "$RACKS"
    [[ $output == *"remove --topo"* ]]
    run -64 collrun synth allgather --wire shm --steps 2
    [[ $output == *"remove --steps"* ]]
    run -64 collrun synth gather --wire shm --trees 2
    [[ $output == *"not gather"* ]]
    run -64 collrun synth custom --wire shm
    [[ $output == *"custom has no flat plan"* ]]
    run -64 collrun synth gather --wire shm -n 2 --root 2
    [[ $output == *"the root is 2"* ]]
}

@test "what cannot be made is refused" {
    run -64 collrun synth alltoall --topo "$RACKS"
    [[ $output == *"not alltoall"* ]]
    run -64 collrun synth mine.plan
    [[ $output == *"is a file"* ]]
    run -64 collrun synth allreduce -n 1
    [[ $output == *"2 ranks"* ]]
    run ! collrun synth allgather -n 4 --plan missing/a.plan
    [[ $output == *"missing/a.plan"* ]]
}

# ---- plans with few steps ----

# Without z3 there is no such search, and a sentence reports it.
need_z3() {
    run collrun synth allgather -n 2 --steps 1
    [[ $output != *"was built"* ]] || skip "built without z3 (Debian: libz3-dev)"
}

@test "DGX-1: an all-gather in 2 steps, none in 1, and two chunks in 3 rounds (SCCL)" {
    need_z3
    DGX1=$LABS/topologies/dgx-1.topo
    collrun synth allgather --topo "$DGX1" --steps 2 --nearest -p two.plan \
        -o csv >out.csv
    grep -q '^two.plan,2,1,2,2,' out.csv
    run -0 collrun verify two.plan
    run -1 collrun synth allgather --topo "$DGX1" --steps 1 --nearest
    [[ $output == *"no plan of allgather on topology dgx-1 has only 1 step"* ]]
    run -0 collrun synth allgather --topo "$DGX1" --steps 3 --chunks 2 \
        --pareto --nearest -o csv
    [[ ${lines[1]} == -,2,2,3,3,1.500* && -z ${lines[2]:-} ]]
}

# Cai et al., "Synthesizing Optimal Collective Algorithms" (PPoPP 2021), table 4,
# all-gather on a DGX-1: (chunks, steps, rounds). A block of C chunks takes R / C of
# the time of a block on one NVLink. The bound is 7/6: seven blocks come in over six
# NVLinks. So (6, 7, 7) and (6, 3, 7) have the best bandwidth, (1, 2, 2) and
# (2, 2, 3) the fewest steps.
@test "DGX-1: the rows of SCCL's table for an all-gather, and one round less is refused" {
    need_z3
    DGX1=$LABS/topologies/dgx-1.topo
    rows=('1 2 2' '2 2 3' '6 3 7' '6 7 7')
    [ -z "${SLOW:-}" ] || rows+=('2 3 3' '3 4 4' '4 5 5' '5 6 6')
    for row in "${rows[@]}"; do
        read -r chunks steps rounds <<<"$row"
        collrun synth allgather --timeout 10m --topo "$DGX1" --nearest --chunks "$chunks" \
            --steps "$steps" --rounds "$rounds" -p sccl.plan -o csv >sccl.csv
        grep -q "^sccl.plan,$steps,$chunks,$rounds," sccl.csv
        run -0 collrun verify sccl.plan
        run -1 collrun synth allgather --timeout 10m --topo "$DGX1" --nearest \
            --chunks "$chunks" --steps "$steps" --rounds $((rounds - 1))
        [[ $output == *"no plan"* || $output == *"has only"* ]]
    done
}

@test "z3 and the trees agree: both reach the bound, and less is refused" {
    need_z3
    printf 'topology mesh\nserver s: accelerator g[0-3]\n%s\n%s\n%s\n' \
        'link fast g0: g1 g3 rate=2G' 'link fast g2: g1 g3 rate=2G' \
        'link slow g0: g2 rate=1G' >mesh.topo
    echo 'link slow g1: g3 rate=1G' >>mesh.topo
    collrun synth allgather --topo mesh.topo -b 64M --parts 1 --trees 1 \
        -p trees.plan -o csv >trees.csv
    chunks=$(awk -F, 'NR == 2 { print $2 }' trees.csv)
    collrun synth allgather --topo mesh.topo --steps 3 --chunks "$chunks" \
        -p z3.plan -o csv >z3.csv
    rounds=$(awk -F, 'NR == 2 && $4 == $5 { print $4 }' z3.csv)
    [ "$rounds" -eq 3 ]
    run -1 collrun synth allgather --topo mesh.topo --steps 3 \
        --chunks "$chunks" --rounds $((rounds - 1))
    [[ $output == *"has only $((rounds - 1)) rounds: the bound is $rounds"* ]]
    # The busiest link of both is busy for the time of the bound.
    for plan in trees z3; do
        collrun price $plan.plan --topo mesh.topo -b 64M -o csv |
            awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
                NR == 2 { exit !($at["optimum_percent"] == "100.0") }'
    done
}

@test "plans of few steps reduce, too, and limits are named" {
    need_z3
    for op in broadcast reduce reduce_scatter allreduce; do
        collrun synth $op -n 4 --steps 2 --chunks 2 >a.plan
        run -0 collrun verify a.plan
    done
    run -64 collrun synth allgather -n 9 --steps 2
    [[ $output == *"2 to 8 ranks, not 9"* ]]
    run -64 collrun synth allgather -n 4 --chunks 2
    [[ $output == *"need --steps"* ]]
}
