#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# collrun run: a plan on real data, watched, recorded, counted; and a wrong plan
# that never runs.

setup_file() {
    bats_require_minimum_version 1.5.0
    COLLRUN=$(realpath "${COLLRUN:-build/collrun}")
    PLANS=$(realpath labs/plans)
    export COLLRUN PLANS
    export GRADWIRE_CALIBRATION=$BATS_FILE_TMPDIR/none.json
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
}

collrun() {
    "$COLLRUN" "$@"
}

watched_ring() {
    cat <<'EOT'
before
         c0   c1   c2
rank 0   1+   1+   1+
rank 1   1+   1+   1+
rank 2   1+   1+   1+

step 1 of 4   0>1 c0 +   1>2 c1 +   2>0 c2 +
         c0   c1   c2
rank 0   1+   1+  [2+]
rank 1  [2+]  1+   1+
rank 2   1+  [2+]  1+

step 2 of 4   0>1 c2 +   1>2 c0 +   2>0 c1 +
         c0   c1   c2
rank 0   1+  [3=]  2+
rank 1   2+   1+  [3=]
rank 2  [3=]  2+   1+

step 3 of 4   0>1 c1 =   1>2 c2 =   2>0 c0 =
         c0   c1   c2
rank 0  [3=]  3=   2+
rank 1   2+  [3=]  3=
rank 2   3=   2+  [3=]

step 4 of 4   0>1 c0 =   1>2 c1 =   2>0 c2 =
         c0   c1   c2
rank 0   3=   3=  [3=]
rank 1  [3=]  3=   3=
rank 2   3=  [3=]  3=

EOT
}

@test "--watch draws the chunks of a ring, the same over every wire" {
    watched_ring >expected
    for wire in shm ipc tcp; do
        collrun run "$PLANS/ring-allreduce-3.plan" --watch --wire "$wire" >out
        sed '/^op /,$d' out >drawn
        diff -u expected drawn
        grep -q '^wrong  *0$' out
        grep -q '^time_us  *-$' out # slow motion is not a measurement
    done
}

@test "--watch leaves JSON alone: the picture goes to stderr" {
    watched_ring >expected
    collrun run "$PLANS/ring-allreduce-3.plan" --watch -o json >out 2>drawn
    diff -u expected drawn
    [ "$(wc -l <out)" -eq 1 ]
    grep -q '"wrong":0,' out
    grep -q '"time_us":null,' out
}

@test "a narrow terminal gets a picture that fits, and a note" {
    COLUMNS=40 collrun run allreduce --algo ring -n 9 --watch >out
    sed '/^op /,$d' out >drawn
    [ "$(wc -L <drawn)" -le 40 ]
    grep -q 'more chunks do not fit in 40 columns' drawn
}

@test "the counts on the wire are those of the plan" {
    for wire in shm ipc tcp; do
        collrun run allreduce --algo ring -n 4 -b 64K --wire "$wire" -o json >out
        # 2(p-1) messages per rank, 2(p-1)/p of the size per rank
        grep -q '"messages":24,"planned_messages":24,' out
        grep -q '"wire_bytes":393216,"planned_bytes":393216,' out
        grep -q '"rounds":6,' out
    done
}

@test "a plan for any number of ranks takes -n" {
    for ranks in 2 5 8; do
        collrun run "$PLANS/ring-allreduce.plan" -n "$ranks" -o json >out
        grep -q "\"ranks\":$ranks," out
        grep -q '"wrong":0,' out
    done
}

@test "every collective without a named algorithm; in place; other types" {
    for op in broadcast reduce allreduce gather scatter allgather \
        reduce_scatter alltoall barrier; do
        collrun run "$op" -n 3 -o json >out
        grep -q '"wrong":0,' out
        collrun run "$op" -n 3 --in-place -d bf16 --redop max -o json >out
        grep -q '"wrong":0,' out
    done
}

# values OP: the column `after` of four ranks, one per line.
values() {
    collrun run "$@" -n 4 --values -o csv >out
    sed 1d out | cut -d, -f3
}

@test "--values: 0 1 2 3 of four ranks add up to 0 4 8 12, moved numbers keep their place" {
    diff <(values allreduce -a ring --wire tcp) <(printf '0 4 8 12\n%.0s' 1 2 3 4)
    diff <(values allreduce -a one_shot --redop avg) <(printf '0 1 2 3\n%.0s' 1 2 3 4)
    diff <(values reduce_scatter -d i64) <(printf '%s\n' 0 4 8 12)
    diff <(values reduce -a binomial -r 2 -d u8) <(printf '\n\n0 4 8 12\n\n')
    diff <(values scatter) <(printf '%s\n' 0 1 2 3)
    diff <(values gather --in-place) <(printf '0 1 2 3\n\n\n\n')
    diff <(values allgather -d f64) <(printf '0 1 2 3\n%.0s' 1 2 3 4)
    diff <(values broadcast -r 1) <(printf '0 1 2 3\n%.0s' 1 2 3 4)
    diff <(values alltoall) <(printf '%s\n' '0 4 8 12' '1 5 9 13' '2 6 10 14' '3 7 11 15')
    run -0 collrun run allreduce -n 4 --values -o json
    [[ $output = *'"before":"0 1 2 3","after":"0 4 8 12"'*'"wrong":0'* ]]
}

@test "--values refuses more numbers than a person reads, and types that round" {
    run -64 collrun run allreduce -n 4 --values -b 1K
    [[ $output = *"at most 64 numbers per rank, not 256"* ]]
    run -64 collrun run allreduce -n 4 --values -d bf16
    run -64 collrun run allreduce -n 4 --values --redop prod
    [[ $output = *"--values with prod needs an integer type, not f32"* ]]
    run -0 collrun run allreduce -n 4 --values --redop prod -d i32
    [[ $output = *"0 1 16 81"* ]]
}

@test "a wrong plan is refused before it runs, with its history" {
    for fault in double incomplete deadlock; do
        run -1 --separate-stderr collrun run "$PLANS/wrong-$fault.plan"
        [ -z "$output" ]
        # shellcheck disable=SC2154
        [[ $stderr = *"wrong-$fault.plan: "* ]]
        # shellcheck disable=SC2154
        [ "${#stderr_lines[@]}" -ge 2 ]
    done
    run -1 collrun run "$PLANS/wrong-double.plan"
    [[ $output = *"step 2: 1>2 c0 would count rank 0 twice"* ]]
}

@test "events, trace and metrics are written" {
    collrun run "$PLANS/ring-allreduce-3.plan" --events e.jsonl \
        --trace t.json --metrics m.prom >out
    [ "$(grep -c '"kind":"apply"' e.jsonl)" -eq 12 ]
    [ "$(grep -c '"kind":"op_begin"' e.jsonl)" -eq 3 ]
    sed 's/.*"time_ns":\([0-9]*\).*/\1/' e.jsonl >order.txt
    sort -n -c order.txt
    grep -q traceEvents t.json
    grep -q '^gradwire_' m.prom
    run collrun run allreduce -n 2 --events /nowhere/e.jsonl
    [ "$status" -ne 0 ]
    [[ $output = *"/nowhere/e.jsonl"* ]]
}

@test "an invalid file has status 65 and names the place" {
    printf 'allreduce ranks=3 chunks=1\nstep 0>1 c0 *\n' >bad.plan
    run -65 collrun run bad.plan
    [[ $output = *"bad.plan:2:"* ]]
    run -64 collrun run allreduse
    run -64 collrun run allreduce --redop band
}
