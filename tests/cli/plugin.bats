#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Plug-ins as a person uses them: compiled as in gradwire-plugin(7), named in
# place of an algorithm, verified, counted, simulated, run. Errors of a plug-in
# are reported.

setup_file() {
    bats_require_minimum_version 1.5.0
    cd "$BATS_TEST_DIRNAME/../.." || return 1
    export ROOT=$PWD
    COLLRUN=$(realpath "${COLLRUN:-${B:-build}/collrun}")
    export COLLRUN
    export GRADWIRE_CALIBRATION=$BATS_FILE_TMPDIR/none.json
    export SO=$BATS_FILE_TMPDIR/two_level.so
    compile labs/plugins/two_level.c "$SO"
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
}

collrun() {
    "$COLLRUN" "$@"
}

# compile SOURCE OUTPUT
compile() {
    ${CC:-cc} -Wall -Wextra -Werror -shared -fPIC -I "$ROOT/lib/include" \
        -o "$2" "$1"
}

# mine BODY [MEMBERS]: mine.so, an all-reduce of one chunk whose emit has that
# body, with these further members of struct gw_algo.
mine() {
    local members='.name = "mine"'
    [ -z "${2:-}" ] || members=$2
    cat >mine.c <<END
#include <gradwire/gradwire.h>
static bool valid(unsigned ranks) { return ranks > 0; }
static unsigned chunks(const struct gw_algo_args *a) { (void)a; return 1; }
static void emit(struct gw_builder *b, const struct gw_algo_args *a)
{
    (void)a;
    gw_builder_step(b);
    $1
}
static const struct gw_algo mine = {.collective = GW_ALLREDUCE,
    .valid = valid, .chunks = chunks, .emit = emit, $members};
const struct gw_plugin gw_plugin = {.version = GW_PLUGIN_VERSION,
    .kind = GW_PLUGIN_PLAN, .name = "mine", .summary = "a test",
    .plan = &mine};
END
    compile mine.c mine.so
}

STAR='for (unsigned i = 1; i < a->ranks; i++) gw_builder_add(b, i, 0, 0, GW_ADD);
    gw_builder_step(b);
    for (unsigned i = 1; i < a->ranks; i++) gw_builder_add(b, 0, i, 0, GW_REPLACE);'

# value KEY FIELD: of the one row of a JSON line that has "KEY".
value() {
    grep -m 1 "\"$1\"" | sed "s/.*\"$2\":\"\{0,1\}\([^,\"}]*\).*/\1/"
}

# log2 N, rounded up.
log2() {
    local rounds=0 reach=1
    while [ "$reach" -lt "$1" ]; do
        reach=$((2 * reach))
        rounds=$((rounds + 1))
    done
    echo "$rounds"
}

@test "two_level is right for every number of ranks, group size and thread" {
    run -0 --separate-stderr collrun verify allreduce --algo "$SO" --all \
        --max-ranks 100 -o json
    [[ $output = *'"algo":"two_level","ranks_max":100'*'"wrong":0'* ]]
    [ -z "$stderr" ]
}

@test "two_level counts as its formulas say" {
    for shape in "12 4" "13 4" "30 8" "7 16" "1 1"; do
        read -r p g <<<"$shape"
        collrun price allreduce --algo "$SO" -n "$p" --group "$g" -b 1M \
            -o jsonl >row
        l=$(((p + g - 1) / g))
        [ "$g" -le "$p" ] && tree=$(log2 "$g") || tree=$(log2 "$p")
        [ "$(value rounds rounds <row)" -eq $((2 * tree + 2 * (l - 1))) ]
        [ "$(value rounds total_bytes <row)" -eq \
            $((2 * (p - l) * 1048576 + 2 * (l - 1) * 1048576)) ]
        [ "$(value rounds algo <row)" = two_level ]
    done
}

@test "plan prints it, and the printed plan is the same plan" {
    collrun plan allreduce --algo "$SO" -n 6 >it.plan
    collrun plan it.plan >again.plan
    cmp it.plan again.plan
    run -0 collrun verify it.plan
}

@test "sim uses the racks as groups, and the uplinks carry the predicted bytes" {
    collrun sim allreduce --algo "$SO" -b 16M -o jsonl \
        --topo "$ROOT/labs/topologies/racks.topo" >row
    # 2(l-1)/l of the buffer leave each of the racks.
    racks=$(collrun sim allreduce --algo "$SO" -b 16M -o json \
        --topo "$ROOT/labs/topologies/racks.topo" |
        grep -o '"racks":[0-9]*' | grep -o '[0-9]*')
    [ "$racks" -gt 1 ]
    [ "$(value uplink_bytes uplink_bytes <row)" -eq \
        $((2 * (racks - 1) * 16777216 / racks)) ]
}

@test "sim of very many ranks reports that it did not verify" {
    run -0 --separate-stderr collrun sim allreduce --algo "$SO" -n 20000 -b 1K
    [[ $stderr = *"two_level.so: not verified for 20000 ranks"* ]]
    run -0 --separate-stderr collrun sim allreduce --algo "$SO" -n 100 -b 1K
    [ -z "$stderr" ]
}

@test "run and bench run it over every wire, and check every element" {
    for wire in shm ipc tcp; do
        run -0 collrun run allreduce --algo "$SO" -n 5 -w "$wire" -o json
        [[ $output = *'"algo":"two_level"'*'"wrong":0'* ]]
    done
    run -0 collrun bench allreduce --algo "$SO" -n 3 -b 4K -e 64K \
        --seconds 5ms -o json
    [[ $output = *'"wrong":0'*'"algo":"two_level"'* ]]
    run -0 collrun bench all --algo "$SO" -n 3 -b 4K -e 4K --seconds 5ms
    [[ $output = *two_level* ]]
}

@test "train reduces gradients by it" {
    printf '+1 1:1\n-1 1:-1\n+1 1:2\n-1 1:-2\n' >rows
    run -0 collrun train lr rows -n 3 --algo "$SO" --epochs 2 -o json
    [[ $output = *'"algo":"two_level"'* ]]
}

@test "the plug-in of the manual page is right" {
    awk -v dir=. -f "$ROOT/tests/cli/examples.awk" \
        "$ROOT/man/gradwire-plugin.7"
    compile 1.c star.so
    run -0 collrun verify allreduce --algo star.so --all
}

@test "a wrong plug-in is shown with the place of the error, and no rank runs it" {
    mine 'for (unsigned i = 1; i < a->ranks; i++)
              gw_builder_add(b, 0, i, 0, GW_ADD);'
    run -1 collrun verify allreduce --algo mine.so -n 4
    [[ $output = *"after step 1: rank 0 c0 lacks ranks 1-3"* ]]
    run -1 collrun verify allreduce --algo mine.so --all
    [[ $output = *"collrun verify allreduce --algo mine.so -n "*lacks* ]]
    for words in "run allreduce -n 4" "bench allreduce -n 4" \
        "sim allreduce -n 4" "sim allreduce -n 100"; do
        # shellcheck disable=SC2086
        run -1 --separate-stderr collrun $words --algo mine.so
        [[ $stderr = *lacks* ]]
    done
}

@test "breaking the builder's rules is an error" {
    mine 'for (unsigned i = 0; i < 2000; i++)
              gw_builder_add(b, i, i + 9 * a->ranks, i, GW_ADD);'
    for words in plan verify price sim run bench; do
        run --separate-stderr collrun "$words" allreduce --algo mine.so -n 4
        [ "$status" -eq 1 ]
        [[ $stderr = *"mine of 4 ranks: step 1: 0>36: there are only 4 ranks, numbered from 0"* ]]
    done
    run -1 collrun sim allreduce --algo mine.so -n 100
    run -1 collrun verify allreduce --algo mine.so --all
    mine "$STAR"
    sed -i 's/chunks = chunks/chunks = NULL/; /^static unsigned chunks/d' mine.c
    compile mine.c mine.so
    run -64 collrun plan allreduce --algo mine.so
    [[ $output = *"mine.so: mine: chunks is NULL"* ]]
}

@test "names that are taken, and those that are none" {
    mine "$STAR" '.name = "ring"'
    run -64 collrun verify allreduce --algo mine.so
    [[ $output = *'mine.so: allreduce already has an algorithm "ring"'* ]]
    mine "$STAR" '.name = "my algo"'
    run -64 collrun verify allreduce --algo mine.so
    [[ $output = *'a-z, 0-9 and _, not "my algo"'* ]]
}

@test "files that are not plug-ins, or of another collective, are refused" {
    mine "$STAR"
    run -64 collrun verify allgather --algo mine.so
    [[ $output = *"mine.so is a plug-in for allreduce, not for allgather"* ]]
    run -64 collrun verify mine.so
    [[ $output = *"for example: allreduce --algo mine.so"* ]]
    run -65 collrun verify allreduce --algo none.so
    [[ $output = *"none.so: no such file"* ]]
    run -65 collrun verify allreduce --algo mine.c
    [[ $output = *"mine.c is source; compile it first: cc -shared -fPIC"* ]]
    echo 'int nothing = 1;' >nothing.c
    compile nothing.c nothing.so
    run -65 collrun verify allreduce --algo ./nothing.so
    [[ $output = *"./nothing.so does not export gw_plugin"* ]]
}

@test "verify --all takes one operand, and no number of ranks" {
    run -0 collrun verify allreduce --all --max-ranks 9 -o csv
    [[ $output = *allreduce,ring,* ]]
    [[ $output != *$'\n'broadcast,* ]]
    run -0 collrun verify allreduce --algo swing --all --max-ranks 9 -o csv
    [[ $output = *allreduce,swing,8,* ]]
    [[ $output != *ring* ]]
    run -64 collrun verify --algo ring --all
    run -64 collrun verify allreduce -n 4 --all
    run -64 collrun verify allreduce broadcast --all
    run -64 collrun verify "$ROOT/labs/plans/ring-allreduce.plan" --all --algo ring
    mine "$STAR"
    sed -i "s/ranks > 0/ranks > 99/" mine.c
    compile mine.c mine.so
    run -64 collrun verify allreduce --algo mine.so --all
    [[ $output = *"mine: no number of ranks up to 64 is supported"* ]]
}
