#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Slots placed by a plug-in: initially, when servers come and die, and with the
# load of slots. A training on them has the same bits as one without servers.
# Errors of a plug-in or a load are reported.

# shellcheck disable=SC2016 # the expressions are awk's

load ../until.bash

setup_file() {
    bats_require_minimum_version 1.5.0
    cd "$BATS_TEST_DIRNAME/../.." || return 1
    export ROOT=$PWD
    BUILD=$(realpath "${B:-build}")
    export BUILD
    unset GRADWIRE_RUN GRADWIRE_RUNS
    compile labs/plugins/spread.c "$BATS_FILE_TMPDIR/spread.so"
    # shellcheck disable=SC2046
    ${CC:-cc} -o "$BATS_FILE_TMPDIR/jsoncheck" tests/cli/jsoncheck.c \
        $(pkg-config --cflags --libs jansson)
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    SPREAD=$BATS_FILE_TMPDIR/spread.so
}

teardown() {
    [ ! -e now ] || cat now # seen after a failure only
    [ ! -d runs ] || ringctl down --all >/dev/null
}

# compile SOURCE OUTPUT
compile() {
    ${CC:-cc} -Wall -Wextra -Werror -shared -fPIC -I "$ROOT/lib/include" \
        -o "$2" "$1"
}

# mine BODY: mine.so, whose choose() has that body.
mine() {
    cat >mine.c <<END
#include <gradwire/gradwire.h>
static unsigned choose(const struct gw_placement_question *q)
{
    (void)q;
    $1
}
static const struct gw_placement mine = {.choose = choose};
const struct gw_plugin gw_plugin = {.version = GW_PLUGIN_VERSION,
    .kind = GW_PLUGIN_PLACEMENT, .name = "mine", .summary = "a test",
    .placement = &mine};
END
    compile mine.c mine.so
}

ringctl() {
    timeout 300 "$BUILD/ringctl" "$@" </dev/null 3>&-
}

# The slots as "primary replica replica...", a line each.
slots() {
    ringctl slots -o jsonl |
        sed -n 's/.*"slot":[0-9]*,"primary":"\([0-9]*\)","in_sync":"\([0-9 ]*\)".*/\1 \2/p'
}

# settled EXPRESSION: awk's, of the fields above, holds for every slot, and no
# slot is being changed.
settled() {
    slots >now
    [ "$(wc -l <now)" = 8 ] || return 1
    awk "!($1) { bad = 1 } END { exit bad }" now &&
        ! ringctl slots -o jsonl | grep -q '"learner":"[0-9]\|"successor":"[0-9]'
}

# joined SERVER: it is the primary of a slot.
joined() {
    slots >now
    grep -q "^$1 " now
}

@test "replicas are in different racks, also after a join and a death" {
    run -0 ringctl up 1 --servers 4 --replicas 2 --slots 8 --placement "$SPREAD"
    [[ $output = *"placement spread"* ]]
    until_true 60 settled 'NF == 3 && $2 % 2 != $3 % 2'
    run -0 ringctl add --role server
    until_true 60 joined 4
    until_true 60 settled 'NF == 3 && $2 % 2 != $3 % 2'
    run -0 ringctl kill server 1
    until_true 60 settled 'NF == 3 && $2 != 1 && $2 % 2 != $3 % 2'
    run -0 ringctl status -o json
    [[ $output = *'"placement":"spread"'* ]]
}

@test "the weight of a slot is printed" {
    mine 'unsigned i, best = 0;
        for (i = 1; i < q->server_count; i++)
            if (q->servers[i].primary_weight < q->servers[best].primary_weight)
                best = i;
        return best;'
    printf '%s\n' '# of slot 0' 100 '' 1 1 1 1 1 1 '1 # the last' >weights
    run -0 ringctl up 1 --servers 2 --replicas 1 --slots 8 \
        --placement mine.so --weights weights
    until_true 60 settled '1'
    [ "$(sed -n 1p now)" = "0 0" ]
    [ "$(grep -c '^1 1$' now)" = 7 ]
}

@test "a training on slots that are all on one server has the same bits" {
    mine 'return q->server_count - 1;'
    run -0 --separate-stderr timeout 300 "$BUILD/psnode" train drift -s 3 -n 2 \
        -E 1 --replicas 1 --placement mine.so --reference -o json
    [[ $output = *'"same_bits":"yes"'* ]]
    [[ $output = *'"lost":0'* ]]
}

# Some features are in most of the rows.
hot_rows() {
    awk -f "$ROOT/labs/14-hot-keys/rows.awk" -v rows=1000 -v features=400 \
        -v per=10 -v zipf=1.2
}

# A server reports its moves after the routes have changed.
move_is_reported() {
    ringctl ps -o jsonl >now && grep -q '"moved":[1-9]' now
}

@test "by load slots leave the hot server, and no push is lost" {
    hot_rows >rows
    train=(timeout 300 "$BUILD/psnode" train lr rows -n 2 -s 4 --replicas 1
        -E 30 --batch 10 --parts 2 -o json)
    run -0 --separate-stderr "${train[@]}"
    [[ $output =~ \"digest\":\"([0-9a-f]+)\" ]]
    digest=${BASH_REMATCH[1]}
    "${train[@]}" --placement load --compute 2ms --name even \
        >even.json 2>err </dev/null 3>&- &
    pid=$!
    until_true 60 ringctl --run even wait 'step>=5'
    export GRADWIRE_RUN=even
    run -0 ringctl status -o json
    [[ $output = *'"placement":"load"'* ]]
    run -0 ringctl wait 'uneven>=1.2'
    run -0 ringctl wait 'uneven<1.2'
    until_true 60 move_is_reported
    wait "$pid" || { cat err; return 1; }
    grep -q '"lost":0,"doubled":0' even.json
    grep -q "\"digest\":\"$digest\"" even.json
}

@test "slots that move while a server dies and another joins lose nothing" {
    train=(timeout 300 "$BUILD/psnode" train drift -n 2 -E 40 --set rows=1000 -o json)
    run -0 --separate-stderr "${train[@]}" -s 1
    [[ $output =~ \"digest\":\"([0-9a-f]+)\" ]]
    digest=${BASH_REMATCH[1]}
    "${train[@]}" -s 4 --replicas 2 --placement "$SPREAD" --compute 5ms \
        --name broken >broken.json 2>err </dev/null 3>&- &
    pid=$!
    until_true 60 ringctl --run broken wait 'step>=5'
    run -0 ringctl --run broken kill server 1
    run -0 ringctl --run broken add --role server
    run -0 ringctl --run broken wait 'step>=60'
    run -0 ringctl --run broken add --role server
    wait "$pid" || { cat err; return 1; }
    grep -q '"lost":0,"doubled":0' broken.json
    grep -q "\"digest\":\"$digest\"" broken.json
}

# sum LIST NAME...: over all rows.
sum() {
    local names
    names=$(printf '|%s' "${@:2}")
    ringctl "$1" -o jsonl | grep -oE "\"(${names#|})\":[0-9]+" |
        awk -F: '{ n += $2 } END { print n }'
}

is_reported() {
    ringctl slots >/dev/null
    [ "$(sum ps push_keys)" = 640 ] && [ "$(sum slots keys)" = \
        "$(sum ps push_keys pull_keys)" ]
}

# 10 batches of two parts, each of which needs all 32 keys.
@test "requests to servers and slots are counted" {
    run -0 ringctl up 2 --servers 3 --replicas 2 --mode bsp --epochs 1 \
        --set rows=1000 train drift
    run -0 ringctl wait 'done'
    until_true 60 is_reported
    run -0 --separate-stderr timeout 300 "$BUILD/psnode" train drift -s 1 -n 2 \
        -E 1 --set rows=1000 -o json
    [[ $output = *'"keys_pushed":640,'* ]]
    [[ $output = *'"hottest_server_share":1,'* ]]
}

@test "three controllers follow it, too" {
    run -0 ringctl up 1 --servers 3 --replicas 2 --slots 8 --controllers 3 \
        --placement "$SPREAD"
    until_true 60 settled 'NF == 3 && $2 % 2 != $3 % 2'
}

# refused STATUS SENTENCE OPTION...
refused() {
    run "-$1" --separate-stderr ringctl up 1 --servers 2 --slots 8 "${@:3}"
    # shellcheck disable=SC2154 # bats sets it
    [[ $stderr = *"$2"* ]] || { echo "$stderr"; return 1; }
    run -0 ringctl ls -o json
    [[ $output != *'"alive":true'* ]]
}

@test "mistakes are reported" {
    refused 65 "none.so: no such file" --placement none.so
    compile "$ROOT/labs/plugins/two_level.c" plan.so
    refused 65 "is a plug-in of kind plan; a plug-in of kind placement is needed" \
        --placement plan.so
    mine 'return q->server_count;'
    refused 64 "slot 0, replica 0: the placement chose server 2; the 2 servers" \
        --placement mine.so
    mine 'return 0;'
    printf '1\n1\n' >weights
    refused 65 "weights: 2 weights, but the run has 8 slots" \
        --placement mine.so --weights weights
    printf '1\nheavy\n' >weights
    refused 65 "weights:2: each weight must be a number" \
        --placement mine.so --weights weights
    refused 64 "name one" --weights weights
    run -64 --separate-stderr ringctl up 3 --placement mine.so
    [[ $stderr = *"a ring has no"* ]]
}
