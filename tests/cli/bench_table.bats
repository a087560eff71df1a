#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# The table of `make bench`, from made-up measurements: its rows, the runs that
# they need, the verdicts, and the other formats. bench_report.bats tests the
# texts about missed rows.

setup() {
    bats_require_minimum_version 1.5.0
    here=$(realpath "$BATS_TEST_DIRNAME/../bench")
    cd "$BATS_TEST_TMPDIR" || return 1
}

expand() {
    awk -v groups="${1:-}" -f "$here/expand.awk" in >rows
}

jobs_of_rows() {
    awk -f "$here/yardstick.awk" -f "$here/jobs.awk" rows
}

report() {
    awk "$@" -f "$here/stats.awk" -f "$here/yardstick.awk" \
        -f "$here/reasons.awk" -f "$here/report.awk" times.txt rows
}

@test "a line of lists is every combination, sizes in bytes" {
    echo "a x,y 2,4 1K,2M own,other base 1.0" >in
    expand
    [ "$(wc -l <rows)" -eq 16 ]
    grep -qx "a y 4 2097152 other base 1.0" rows
    printf '%s\n' "a data 2 8 own base -" "b whole 2 8 own base -" \
        "c blocks 2 8 own base -" >in
    expand
    [ "$(grep -c ^a rows)" -eq 8 ]
    [ "$(sed -n 's/^[bc]/a/p' rows)" = "$(grep ^a rows)" ]
}

@test "groups are chosen; an unknown one and a short line are errors" {
    printf '%s\n' "a x 2 8 own base 1" "b x 2 8 own base 1" >in
    expand b
    [ "$(cat rows)" = "b x 2 8 own base 1" ]
    run -64 expand "b c"
    [[ $output == *'no group "c"; there are a, b'* ]]
    echo "a x 2 8 own base" >>in
    run -64 expand
    [[ $output == *"in:3: not seven columns"* ]]
}

@test "the rows of the project can be read, and name programs that are known" {
    for in in "$here/rows" "$here/quick.expected"; do
        cp "$in" in
        expand
        [ -s rows ]
        jobs_of_rows >jobs.txt
        [ -s jobs.txt ]
        run ! grep -Evq '^(((shm|ipc|tcp)(-malloc|-bytes)?)|ideal|openmpi|openmpi-tcp|mpich|face-openmpi|face-mpich|(fall|taken)-(openmpi|mpich)|gloo|start-(shm|ipc|tcp)|ps-(shm|ipc|tcp)|pslite|events-(on|off)|(wire|raw|key|cipher)-(tcp|ipc)|(elastic|plain|plain-ring)-(shm|ipc|tcp)|memory-(shm|malloc|ipc|tcp)|synth-(shm|ipc|tcp)|tune-(regret|worst|median|p95)) [a-z_-]+ [0-9]+( [0-9]+)+$' jobs.txt
    done
}

@test "a measurement is made once, next to its yardstick" {
    cat >in <<'EOF'
a x 2 8,16 own  base|rival 1
b x 2 16   own  base       1
c x 2 100  own  near       1
d x 4 8    own  own@2      1
d y 2 8    own  like-x     1
d x 4 8    own  =5         1
EOF
    expand
    jobs_of_rows >jobs.txt
    diff - jobs.txt <<'EOF'
own x 2 8 16 100 64 128
base x 2 8 16
rival x 2 8 16
own x 4 8
own y 2 8
EOF
}

@test "verdicts are of the median ratio of a round, to the faster yardstick" {
    printf '%s\n' "own x 2 8 "{10,30,20} "base x 2 8 "{30,30,10} \
        "rival x 2 8 "{20,40,25} >times.txt
    printf '%s\n' "a x 2 8 own base|rival 0.8" >rows
    run -0 report
    [[ ${lines[1]} == *" 20.00 "*" rival "*" 25.00 "*" 0.750  0.800 PASS" ]]
    [ "${lines[2]}" = "a: 1 rows with a limit: 1 met, 0 missed with a reason, 0 missed" ]
    [ "${lines[3]}" = "all: 1 rows with a limit: 1 met, 0 missed with a reason, 0 missed" ]
    echo "a x 2 8 own base 1/2" >>rows
    run -1 report
    [[ ${lines[2]} == *" 1.000  0.500 MISS" ]]
    run -0 report -v slack=2
    run -0 report -v best_counts=1 -v slack=2
    [[ ${lines[1]} == *" base "*" 10.00 "*" 1.000  1.600 PASS" ]]
}

@test "a failure in one round leaves the other rounds valid" {
    printf '%s\n' "round 1" "base x 2 8 100" "round 2" "own x 2 8 40" \
        "base x 2 8 50" "round 3" "own x 2 8 8" >times.txt
    echo "a x 2 8 own base 1" >rows
    run -0 report
    [[ ${lines[1]} == *" 24.00 "*" base "*" 75.00 "*" 0.800  1.000 PASS" ]]
}

@test "between two sizes the yardstick is interpolated" {
    printf '%s\n' "own x 2 96 25" "own x 2 64 10" "own x 2 128 30" >times.txt
    echo "a x 2 96 own near 1.15" >rows
    run -1 report
    [[ ${lines[1]} == *" near "*" 20.00 "*" 1.250  1.150 MISS"* ]]
}

@test "a row without a result is a miss; a row without a limit is neither" {
    echo "own x 2 8 10" >times.txt
    echo "a x 2 8 own base 2" >rows
    run -1 report
    [[ ${lines[1]} == *"MISS (no result)" ]]
    echo "a x 2 8 own =40 -" >rows
    run -0 report
    [[ ${lines[1]} == *" 0.250      - " ]]
}

@test "the rows as JSON lines, and with new limits" {
    echo "own x 2 8 10" >times.txt
    echo "a x 2 8 own =40 0.5" >rows
    run -0 report -v json=out.jsonl -v record=new
    [ "$(cat new)" = "a x 2 8 own =40 0.250" ]
    grep -q '"unit":"us","gradwire":"own","gradwire_median":10.000,"gradwire_range":\[10.000,10.000\],' \
        out.jsonl
    grep -q '"ratio":0.2500,"limit":0.5000,"met":true,"reason":null,' out.jsonl
}

@test "the drawing has a panel for each number of ranks, with three lines" {
    for bytes in 8 1024 131072; do
        for who in shm ideal openmpi; do
            echo "$who allreduce 2 $bytes 1$bytes"
        done
        echo "a allreduce 2 $bytes shm ideal 1" >>rows
    done >times.txt
    awk -f "$here/stats.awk" -f "$here/plot.awk" times.txt rows >out.svg
    [ "$(grep -c '<polyline ' out.svg)" -eq 3 ]
    [ "$(grep -c 'class="frame"' out.svg)" -eq 1 ]
    [ "$(tail -n 1 out.svg)" = "</svg>" ]
}

# fake_build COMMAND: a tree whose collrun executes COMMAND, and then prints a row.
fake_build() {
    mkdir -p build/bench
    printf '#!/bin/sh\necho copy 1 GB/s\n' >build/bench/limits
    printf '#!/bin/sh\necho "$*" >>%s/started\n%s\n%s\n' "$PWD" "$1" \
        "echo '{\"p50_us\":4,\"wrong\":0}'" >build/collrun
    chmod +x build/bench/limits build/collrun
    printf '%s\n' "a reduce 2 8 shm =5 1.0" "a allreduce 2 8 shm =5 1.0" >some
}

@test "make bench: no round begins after the time, and progress is lines in a file" {
    fake_build ''
    run -0 --separate-stderr env MINUTES=0 ROUNDS=3 "$here/run.sh" -r "$PWD/some" "$PWD/build"
    [ "$(wc -l <started)" -eq 2 ]
    [[ $output = *"2 of 2 rows"* || $output = *"PASS"*"PASS"* ]]
    # shellcheck disable=SC2154 # run sets it
    [[ $stderr = *"round 1 of 3, 1 of 2: shm reduce 2 8"* ]]
    [[ $stderr = *"2 of 2: shm allreduce 2 8"* ]]
    [[ $stderr != *$'\r'* ]]
    rm started
    run -0 env MINUTES=5 ROUNDS=3 "$here/run.sh" -r "$PWD/some" "$PWD/build"
    [ "$(wc -l <started)" -eq 6 ]
}

@test "make bench: a signal ends it with the rows measured so far" {
    # the second one of the first round never ends by itself
    # shellcheck disable=SC2016 # a script
    fake_build 'case $2 in allreduce) exec sleep 7135 ;; esac'
    for signal in INT TERM; do
        rm -f started
        # an ignored SIGINT could not be trapped
        python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$here/run.sh" -r "$PWD/some" "$PWD/build" \
            >table 2>said 3>&- &
        local pid=$!
        until grep -q "bench allreduce" started 2>/dev/null; do kill -0 $pid; done
        kill -s $signal $pid
        local status=0
        wait $pid || status=$?
        [ "$status" -eq 130 ]
        grep -q "interrupted in round 1" said
        grep -q "^a *reduce .*PASS" table
        run ! grep -q "^a *allreduce .*PASS" table
        run ! pgrep -fx "sleep 7135"
    done
}
