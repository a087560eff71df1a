#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# ringctl sim: clusters in virtual time.

setup_file() {
    bats_require_minimum_version 1.5.0
    R=$(realpath "${B:-build}")/ringctl
    export R
}

@test "sim: the same options give the same numbers, another seed gives others" {
    run -0 "$R" sim ring -n 5 --seed 7
    first=$output
    run -0 "$R" sim ring -n 5 --seed 7
    [ "$output" = "$first" ]
    run -0 "$R" sim ring -n 5 --seed 8
    [ "$output" != "$first" ]
}

@test "sim: a member that crashes is excluded, and the others continue" {
    run -0 "$R" sim ring -n 4 --faults 'at 300ms crash 2' -o jsonl
    [[ $output == *'"crashes":1,'*'"views":2,'*'"violation":null'* ]]
    [[ $output == *'"detected":1,"detect_ms":1,'*'"recovered":1,'* ]]
}

@test "sim: an op of n has 2 (n-1) n transfers and takes 2 (n-1) ms" {
    for n in 2 5 8; do
        run -0 "$R" sim ring -n $n --faults none --events -
        [ "$(grep '"send"' <<<"$output" | grep -c '"op":2,')" -eq \
            $((2 * (n - 1) * n)) ]
        took=$(awk -F'[:,]' '/"op":2,/ { if (!first) first = $2; last = $2 }
            END { print (last - first) / 1000000 }' <<<"$output")
        [ "$took" -eq $((2 * (n - 1))) ]
    done
}

# The dead member has added to every chunk when it has sent one chunk n times,
# once as a result: a survivor has all sums.
@test "sim: a member that dies before its nth send of an op is excluded, later not" {
    for n in 3 4 6; do
        for sent in $(seq 1 $((2 * n - 2))); do
            run -0 "$R" sim ring -n $n -o jsonl --faults \
                "at $((199 + sent))500us crash 1"
            [ "$sent" -lt "$n" ] && fate='"forward":0,"exclude":1,' ||
                fate='"forward":1,"exclude":0,'
            [[ $output == *"$fate"* ]]
        done
    done
}

@test "sim: without a report, a death is detected by silence" {
    run -0 "$R" sim ring --faults 'at 300ms crash 2' --silent -o jsonl
    [[ $output == *'"suspicions":'[23],* ]]
    [[ $output =~ \"detect_ms\":([0-9]+) ]]
    [ "${BASH_REMATCH[1]}" -ge 100 ]
}

# Whole hosts, or their cables: in each pair one member's observer may be lost,
# too. The survivors continue, or the simulation reports a failure.
@test "sim: two members lost at the same moment are both excluded" {
    for n in 3 4 6; do
        for lost in 0,1 0,2 1,2; do
            for at in 300 301 304 307; do
                run -0 "$R" sim ring -n $n --silent -o jsonl \
                    --faults "at ${at}ms crash $lost"
                [[ $output == *'"crashes":2,'*'"detected":2,'* ]]
                run -0 "$R" sim ring -n $n -o jsonl --for 2s \
                    --faults "at ${at}ms cut $lost|*"
                [[ $output == *'"wronged":2,'* ]]
            done
        done
    done
}

@test "sim: after too long a pause, the sleeper is falsely declared dead" {
    run -0 "$R" sim ring --faults 'at 300ms pause 2 for 50ms' -o jsonl
    [[ $output == *'"false_suspicions":0,'*'"wronged":0,'* ]]
    run -0 "$R" sim ring --faults 'at 300ms pause 2 for 600ms' -o jsonl
    [[ $output == *'"shaken":1,"wronged":1,'* ]]
}

@test "sim: ringtop plays its events, with the failover" {
    events=$BATS_TEST_TMPDIR/events.jsonl
    run -0 "$R" sim ring --faults 'at 298500us crash 2' --events "$events"
    run -0 "${R%ringctl}ringtop" --from "$events" --batch -n 1 --page failover
    [[ $output == *'node 2'*'op 6: exclude'*'chunks '*' kept, '*' redone (copies '* ]]
}

@test "sim: one row per seed, and their sums" {
    run -0 "$R" sim ring --seeds 3..6 --each -o csv
    [ "${#lines[@]}" -eq 5 ]
    rows=$(awk -F, 'NR > 1 { n += $6 } END { print n }' <<<"$output")
    run -0 "$R" sim ring --seeds 3..6 -o csv
    [ "$(awk -F, 'NR == 2 { print $6 }' <<<"$output")" -eq "$rows" ]
}

# With other seeds an op never ends, since some members wait for data that others
# have taken from an earlier view.
@test "sim: without the check of the epoch an excluded member counts" {
    faults=$BATS_TEST_TMPDIR/faults
    run -1 --separate-stderr "$R" sim ring --seeds 116..2000 -o jsonl \
        --without epoch-check --schedule "$faults" --shrink
    [[ $output == *'"overcounted":1,'*'a wrong sum, in which node'* ]]
    # shellcheck disable=SC2154
    [[ $stderr =~ \(--seed\ ([0-9]+)\ repeats\ it\) ]]
    [ "$(wc -l <"$faults")" -le 8 ]
    run -0 "$R" sim ring --seed "${BASH_REMATCH[1]}"
}

# In the second run the log loses stored entries, and the controllers disagree.
@test "sim --raft: libraft over the simulated network keeps one log, with its disk" {
    run -0 "$R" sim ring --raft --seeds 1..300 -o jsonl
    [[ $output == *'"violation":null'* ]]
    run -0 "$R" sim servers --raft --seeds 1..100 -o jsonl
    [[ $output == *'"pushes_lost":0,'*'"violation":null'* ]]
    run -1 "$R" sim ring --raft --seeds 1..300 --without disk -o jsonl
    [[ $output == *'has committed an entry'* ]]
    run -64 "$R" sim ring --without disk
}

# In one of the two lines it is the leader that crashes.
@test "sim --raft: votes, terms and entries are events" {
    run -0 "$R" sim ring -n 4 --raft --events - --for 2s --faults \
        'at 300ms crash c0 for 500ms; at 1200ms crash c1 for 500ms; at 1900ms crash c2'
    [ "$(grep -c '"kind":"leader"' <<<"$output")" -ge 2 ]
    [ "$(grep -c '"kind":"vote"' <<<"$output")" -ge 4 ]
    awk -F'[:,}]' '/"kind":"commit"/ { seen++; if ($10 != ++entry[$6]) exit 1 }
        END { exit seen == 0 }' <<<"$output"
    [[ $output == *'"kind":"commit","rank":57'[345]* ]]
}

@test "sim: a ring of 72 members survives all kinds of faults" {
    run -0 "$R" sim ring -n 72 --seeds 1..2 -o jsonl
    [[ $output == *'"nodes":74,'*'"violation":null'* ]]
}

# The reports of all survivors belong to one flush, with one decision about the op.
@test "sim: the death of a rack of 8 of 64 is one flush with one decision" {
    run -0 "$R" sim ring -n 64 -o jsonl --faults 'at 250ms crash 8-15'
    [[ $output == *'"crashes":8,'*'"forward":0,"exclude":1,'* ]]
    [[ $output == *'"views":2,'* ]] # the first one, and one without the rack
    [[ $output == *'"wronged":0,'*'"overcounted":0,'*'"violation":null'* ]]
}

# Beyond 256 members the plans are trees of 16 chunks.
@test "sim: a ring of 512 loses a rack, and goes on as soon as a small ring" {
    run -0 "$R" sim ring -n 512 -o jsonl --faults 'at 400ms crash 8-15'
    [[ $output == *'"crashes":8,'*'"wronged":0,"detected":8,'*'"recovered":1,'* ]]
    [[ $output == *'"overcounted":0,'*'"violation":null'* ]]
    [[ $output =~ \"recover_ms\":([0-9]+) ]]
    [ "${BASH_REMATCH[1]}" -le 200 ]
}

# scale CHANGE MEMBERS FIELD: of the row with messages of 1 ms.
scale() {
    awk -F, -v change="$1" -v members="$2" -v field="$3" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
        $at["change"] == change && $at["members"] == members && $at["delay_ms"] == 1 {
            print $at[field]
        }' "$BATS_TEST_TMPDIR/scale.csv"
}

# Messages with addresses that a member of a ring of $1 sends: with radix 16.
addresses() {
    awk -v n="$1" 'BEGIN {
        for (stride = 1; stride < n; stride *= 16) {
            blocks = int((n + stride - 1) / stride) - 1
            count += blocks < 15 ? blocks : 15
        }
        print count
    }'
}

# The formulas are in gradwire-protocol(7).
@test "sim scale: a rack is one change of the view, and the cost of a death grows slowly" {
    "$R" sim scale -n 64 -o csv >"$BATS_TEST_TMPDIR/scale.csv"
    for n in 8 16 32 64; do
        [ "$(scale kill "$n" views)" -eq 1 ]
        # The supervisor of a small ring does not wait for the other ends.
        [ "$(scale rack "$n" views)" -eq $((n > 16 ? 1 : 2)) ]
        [ "$(scale join-many "$n" views)" -eq 1 ]
        [ "$(scale kill "$n" controller_messages)" -le $((8 * n)) ]
        [ "$(scale kill "$n" controller_bytes)" -le $((2000 * n)) ]
        # A beat of 3 each 20 ms, in and out, and HELLOs: of 64 each 40 ms.
        [ "$(scale kill "$n" beats_per_s)" -eq $((n > 32 ? 160 : 310)) ]
        # Addresses, in and out, and a few messages from and to controllers.
        a=$(addresses $((n - 1)))
        awk -v a="$a" -v messages="$(scale kill "$n" messages)" \
            'BEGIN { exit messages > 2 * a + 6 }'
        # An address takes 8 bytes here, and a message has a head of 10.
        awk -v n="$n" -v a="$a" -v bytes="$(scale kill "$n" bytes)" \
            'BEGIN { exit bytes - 16 * n - 20 * a > 2000 }'
    done
}

@test "sim scale: invalid sizes are refused, and the figures are drawn" {
    run -64 --separate-stderr "$R" sim scale -n 513
    [[ $stderr = *"rings of 8 to 512 members"* ]]
    run -64 --separate-stderr "$R" sim scale -n 7
    for option in --raft --each "--faults none" "--seeds 1..2" "--for 2s" "--ack primary"; do
        # shellcheck disable=SC2086 # words
        run -64 --separate-stderr "$R" sim scale -n 8 $option
        [[ $stderr = *"sim scale has only the option --nodes"* ]]
    done
    run -64 --separate-stderr "$R" sim scal
    [[ $stderr = *"use ring, servers or scale"* ]]
    "$R" sim scale -n 16 -o json >"$BATS_TEST_TMPDIR/scale.json"
    "${R%/*}/collrun" plot "$BATS_TEST_TMPDIR/scale.json" -x members -y resume_ms \
        --script "$BATS_TEST_TMPDIR/scale.gnuplot"
    grep -q "title 'kill 50 delay_ms'" "$BATS_TEST_TMPDIR/scale.gnuplot"
}

@test "sim: a ring of 300 survives all kinds of faults" {
    run -0 "$R" sim ring -n 300 --seed 1 -o jsonl
    [[ $output == *'"nodes":304,'*'"violation":null'* ]]
}

# An excluded member counts, or an op whose data are of two views never ends.
@test "sim: in a ring of 64, too, only the check of the epoch keeps ops right" {
    run -1 "$R" sim ring -n 64 --seeds 1..20 -o jsonl --without epoch-check
    [[ $output != *'"violation":null'* ]]
}

@test "sim: invalid options are refused, with the place" {
    run -64 "$R" sim wing
    [[ $output == *'unknown cluster "wing"; use ring'* ]]
    run -64 "$R" sim ring -n 513
    [[ $output == *"2 to 512 members, not 513, because the list of members is one message"* ]]
    run -64 "$R" sim ring --without gravity
    [[ $output == *epoch-check* ]]
    run -64 "$R" sim ring --seeds 3..1
    run -65 "$R" sim ring --faults 'at 3ms crash'
    [[ $output == *--faults:1:13* ]]
    run -65 "$R" sim ring -n 3 --faults 'at 3ms crash 9'
}

# ---- suspicion plug-ins ----

compile() {
    ${CC:-cc} -Wall -Wextra -Werror -shared -fPIC -I lib/include -o "$2" "$1"
}

@test "sim: with a fixed timeout of 200 ms and beats every 20, a crash is detected in 180 to 220" {
    cd "$BATS_TEST_DIRNAME/../.."
    so=$BATS_TEST_TMPDIR/fixed.so
    compile labs/plugins/fixed_timeout.c "$so"
    for at in 300 305 310 315 319; do
        run -0 "$R" sim ring --suspicion "$so" --silent -o jsonl \
            --faults "at ${at}ms crash 2"
        [[ $output =~ \"detect_ms\":([0-9]+) ]]
        [ "${BASH_REMATCH[1]}" -ge 180 ]
        [ "${BASH_REMATCH[1]}" -le 221 ]
    done
    run -0 "$R" sim ring --suspicion "$so" -o jsonl \
        --faults 'at 300ms pause 2 for 170ms'
    [[ $output == *'"false_suspicions":0,'* ]]
    run -0 "$R" sim ring --suspicion "$so" -o jsonl \
        --faults 'at 300ms pause 2 for 260ms'
    [[ $output == *'"wronged":1,'* ]]
}

@test "up: members of a real ring suspect by a plug-in; a falsely suspected one comes back" {
    cd "$BATS_TEST_DIRNAME/../.."
    so=$BATS_TEST_TMPDIR/hasty.so
    sed 's/(200 \*/(90 */' labs/plugins/fixed_timeout.c >"$BATS_TEST_TMPDIR/hasty.c"
    compile "$BATS_TEST_TMPDIR/hasty.c" "$so"
    export GRADWIRE_RUNS=$BATS_TEST_TMPDIR/runs
    run -0 "$R" -c "up 3 --suspicion $so ops; pause 1; wait alive==2; resume 1; wait alive==3"
    [[ $output == *'alive is 3 (epoch '* ]]
}

@test "up and sim: an invalid suspicion plug-in is refused before anything starts" {
    cd "$BATS_TEST_DIRNAME/../.."
    export GRADWIRE_RUNS=$BATS_TEST_TMPDIR/runs
    run -65 "$R" up 3 --suspicion labs/plugins/fixed_timeout.c
    [[ $output == *'is source; compile it first'* ]]
    compile labs/plugins/two_level.c "$BATS_TEST_TMPDIR/plan.so"
    for verb in 'up 3' 'sim ring'; do
        # shellcheck disable=SC2086
        run -65 "$R" $verb --suspicion "$BATS_TEST_TMPDIR/plan.so"
        [[ $output == *'is a plug-in of kind plan; a plug-in of kind suspicion is needed'* ]]
    done
    compile labs/plugins/fixed_timeout.c "$BATS_TEST_TMPDIR/fixed.so"
    run -64 "$R" up 2 --servers 2 --suspicion "$BATS_TEST_TMPDIR/fixed.so"
    [[ $output == *'--suspicion is only for rings'* ]]
    run -64 "$R" sim servers --suspicion "$BATS_TEST_TMPDIR/fixed.so"
    [[ $output == *'--suspicion is only for rings'* ]]
    [ ! -e "$GRADWIRE_RUNS/latest" ]
}

@test "sim: only the check keeps a late message of the old ring out of a sum" {
    faults='at 201ms delay 3>0 26ms for 1ms; at 202ms crash 2'
    run -1 "$R" sim ring -n 4 --unordered --without epoch-check \
        --faults "$faults" -o jsonl
    [[ $output == *'"overcounted":1,"at_node":0,"at_op":0,"at_chunk":1,"member":2,"counts":1,"has":"0 2 3","wants":"0 1 3"'* ]]
    run -0 "$R" sim ring -n 4 --unordered --faults "$faults" -o jsonl
    [[ $output == *'"crashes":1,'*'"overcounted":0,'*'"violation":null'* ]]
    # In order, it comes before anything of the new ring.
    run -0 "$R" sim ring -n 4 --without epoch-check --faults "$faults"
}

@test "sim: seeds are whole numbers that can be printed, from a least to a most" {
    for seeds in 99999999999999999999 1..99999999999999999999 -1 0.. 5..4 \
        18446744073709551615 ..3 1..2x ''; do
        run -64 "$R" sim ring --seeds "$seeds"
    done
    run -64 "$R" sim ring --seed 18446744073709551615
    run -0 "$R" sim ring --seeds 9223372036854775807 -o jsonl
    [[ $output = *'"seed":9223372036854775807,'* ]]
}

@test "sim: a missing schedule is bad input" {
    run -65 "$R" sim ring --faults /nonexistent
    [[ $output = *'/nonexistent: No such file or directory'* ]]
}
