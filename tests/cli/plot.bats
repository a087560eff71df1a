#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# collrun plot: the points, lines and titles of a figure are those of the
# documents, and errors say what to do.

bats_require_minimum_version 1.5.0

setup() {
    COLLRUN=$(realpath "${COLLRUN:-${B:-build}/collrun}")
    cd "$BATS_TEST_TMPDIR" || return 1
    cat >shm.jsonl <<'END'
{"op":"allreduce","algo":"ring","wire":"shm","bytes":1024,"time_us":30,"busbw_GBps":2,"predicted_us":15,"bound_us":5}
{"op":"allreduce","algo":"ring","wire":"shm","bytes":1024,"time_us":10,"busbw_GBps":6,"predicted_us":15,"bound_us":5}
{"op":"allreduce","algo":"ring","wire":"shm","bytes":1024,"time_us":20,"busbw_GBps":3,"predicted_us":15,"bound_us":5}
{"op":"allreduce","algo":"ring","wire":"shm","bytes":64,"time_us":2,"busbw_GBps":1,"predicted_us":4,"bound_us":1}
{"schema":"collrun bench","version":"0.1.0","partial":false,"status":0}
END
    cat >tcp.json <<'END'
{"schema":"collrun bench","op":"allreduce","wire":"tcp","rows":[
 {"algo":"ring","bytes":64,"time_us":40,"busbw_GBps":0.5},
 {"algo":"it's","bytes":64,"time_us":50,"busbw_GBps":0.4}],"status":0}
END
}

@test "rows are points: sorted, repetitions as median with smallest and largest" {
    "$COLLRUN" plot shm.jsonl --script s.gp
    sed -n '/^\$s1 << END$/,/^END$/p' s.gp >points
    diff points - <<'POINTS'
$s1 << END
64 2 2 2 4 1
1024 20 10 30 15 5
END
POINTS
    grep -qx "set title 'allreduce ring shm'" s.gp
    grep -qx "set logscale x 2" s.gp
    grep -q 'using 1:2:3:4 with yerrorbars' s.gp
    grep -q "using 1:5 with lines lt 1 dt 2" s.gp
    grep -q "title 'bound'" s.gp
}

@test "a row of several repeats has a bar from its smallest to its largest time" {
    cat >repeated.jsonl <<'END'
{"op":"allreduce","algo":"ring","bytes":64,"time_us":10,"busbw_GBps":4,"repeats":5,"time_min_us":8,"time_max_us":20}
END
    "$COLLRUN" plot repeated.jsonl --script s.gp
    grep -qx "64 10 8 20 nan nan" s.gp
    grep -q 'using 1:2:3:4 with yerrorbars' s.gp
    "$COLLRUN" plot repeated.jsonl -y busbw --script s.gp
    grep -qx "64 4 2 5 nan nan" s.gp
}

@test "lines are named by the fields that differ, in several files" {
    run -0 --separate-stderr "$COLLRUN" plot shm.jsonl tcp.json --script s.gp -o json
    [[ $output = *'"series":3,"points":6'* ]]
    grep -qx "set title 'allreduce'" s.gp
    for label in 'ring shm' 'ring tcp' "it''s tcp"; do
        grep -q "title '$label'" s.gp
    done
}

@test "a bandwidth has its prediction and bound in its own unit" {
    "$COLLRUN" plot shm.jsonl -y busbw --script s.gp
    grep -qx "64 1 1 1 0.5 2" s.gp
    grep -qx "set ylabel 'bus bandwidth (GB/s)'" s.gp
}

@test "gnuplot draws each line and its name" {
    run -0 "$COLLRUN" plot shm.jsonl tcp.json --svg a.svg --png a.png
    grep -q '<svg' a.svg
    for label in 'ring shm' 'ring tcp' bound; do
        grep -q "$label" a.svg
    done
    [ "$(head -c 4 a.png | tail -c 3)" = PNG ]
}

@test "results of the tools are drawn" {
    "$COLLRUN" price allreduce -n 4 -b 64K -o jsonl >price.jsonl
    "$COLLRUN" sim allreduce -n 4 -b 64K -o json >sim.json
    "$COLLRUN" bench allreduce -n 2 --sizes 64,1K -i 3 --algo all -o jsonl >bench.jsonl
    for file in price.jsonl sim.json bench.jsonl; do
        run -0 "$COLLRUN" plot $file --svg a.svg
    done
}

@test "errors name the file, the axis and the remedy" {
    run -64 "$COLLRUN" plot shm.jsonl
    [[ $output = *"--svg FILE"* ]]
    run -65 "$COLLRUN" plot shm.jsonl -y tme --script s.gp
    [[ $output = *'y "tme"; the first row has bytes, time_us'* ]]
    echo 'bytes,time_us' >a.csv
    run -65 "$COLLRUN" plot a.csv --script s.gp
    [[ $output = *"a.csv: "*"-o jsonl"* ]]
    echo '{"rows":[{"bytes":1,"time_us":2},3]}' >mixed.json
    run -65 "$COLLRUN" plot mixed.json --script s.gp
    [[ $output = *"mixed.json: row 2 is not an object"* ]]
    : >empty
    run -65 "$COLLRUN" plot shm.jsonl empty --script s.gp
    [[ $output = *"empty: no rows"* ]]
    run -70 "$COLLRUN" plot shm.jsonl --script none/s.gp
    [[ $output = *"none/s.gp: No such file"* ]]
    run -69 env PATH=none "$COLLRUN" plot shm.jsonl --svg a.svg
    [[ $output = *"gnuplot-nox"*"--script FILE"* ]]
    [ ! -e a.svg ]
}
