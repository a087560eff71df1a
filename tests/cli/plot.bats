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
    grep -qx "set xtics ('64' 64, '128' 128, '256' 256, '512' 512, '1K' 1024)" s.gp
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

@test "algorithms that the library chose are one line" {
    "$COLLRUN" bench allreduce -n 2 --sizes 64,64K -i 3 -o jsonl >auto.jsonl
    sed -e 's/"algo":"[a-z_]*"/"algo":"one_shot"/;n' -e 's/"algo":"[a-z_]*"/"algo":"ring"/' \
        auto.jsonl >two.jsonl
    run -0 --separate-stderr "$COLLRUN" plot two.jsonl --script s.gp -o json
    [[ $output = *'"series":1,"points":2'* ]]
    grep -q "^set title 'allreduce auto shm f32 2 ranks'" s.gp
    "$COLLRUN" bench allreduce -n 2 --sizes 64 -i 3 -a ring -o jsonl >ring.jsonl
    "$COLLRUN" plot two.jsonl ring.jsonl --script s.gp
    grep -q "title 'auto'" s.gp
    grep -q "title 'ring'" s.gp
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

@test "results of the tools are drawn, without a warning of gnuplot" {
    "$COLLRUN" price allreduce -n 4 -b 64K -o jsonl >price.jsonl
    "$COLLRUN" sim allreduce -n 4 -b 64K -o json >sim.json
    "$COLLRUN" bench allreduce -n 2 --sizes 64,1K -i 3 --algo all -o jsonl >bench.jsonl
    "$COLLRUN" tune allreduce -n 2 -b 1K -e 4K -s 20ms --dry-run -o jsonl >tune.jsonl
    for file in price.jsonl sim.json bench.jsonl tune.jsonl; do
        run -0 --separate-stderr "$COLLRUN" plot $file --svg a.svg
        [ -z "$stderr" ]
        grep -q '</svg>' a.svg
    done
}

@test "series at one x are bars with their names, prediction and bound" {
    grep '"bytes":64' shm.jsonl >one.jsonl
    sed 's/"ring"/"swing"/' one.jsonl >two.jsonl
    "$COLLRUN" plot one.jsonl two.jsonl --script s.gp
    grep -qx "set title 'allreduce shm 64'" s.gp
    grep -q "set xtics .*('ring' 1, 'swing' 2)" s.gp
    grep -q 's2 using (2):2 with boxes' s.gp
    [ "$(grep -c "title 'prediction'" s.gp)" -eq 1 ]
    [ "$(grep -c "title 'bound'" s.gp)" -eq 1 ]
    # A hundredth would not be seen on a linear axis.
    grep -qx 'set yrange \[0:\*\]' s.gp
    sed 's/"time_us":2,/"time_us":200,/' two.jsonl >slow.jsonl
    "$COLLRUN" plot one.jsonl slow.jsonl --script s.gp
    grep -qx 'set logscale y 10' s.gp
}

@test "scale: one line per algorithm over the ranks, although hosts follow from ranks" {
    for ranks in 4 8 16; do
        "$COLLRUN" sim allreduce -n $ranks -b 64K -a ring,swing -o jsonl
    done >scale.jsonl
    run -0 "$COLLRUN" plot scale.jsonl -x ranks --script s.gp -o json
    [[ $output = *'"series":2,"points":6'* ]]
    grep -q "title 'ring'" s.gp
}

@test "kills: the recoveries of a status, by epoch, a line for each kind" {
    cat >status.json <<'END'
{"schema":"ringctl status","workers":3,"recoveries":[
 {"epoch":2,"how":"exit","resumed_ms":20},{"epoch":3,"how":"silence","resumed_ms":300},
 {"epoch":5,"how":"exit","resumed_ms":30},{"epoch":6,"how":"exit","resumed_ms":null}]}
END
    run -0 "$COLLRUN" plot status.json --script s.gp -o json
    [[ $output = *'"x":"epoch","y":"resumed_ms","series":2,"points":3'* ]]
    grep -q "title 'exit'" s.gp
    run ! grep -q 'logscale x' s.gp
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
    mkdir full # a gnuplot that does not notice a full disk
    printf '#!/bin/sh\ncat >script\nprintf "<svg>" >a.svg\n' >full/gnuplot
    chmod +x full/gnuplot
    run -70 env PATH="$PWD/full:$PATH" "$COLLRUN" plot shm.jsonl --svg a.svg
    [[ $output = *"a.svg: the figure is incomplete; is the disk full?"* ]]
    rm a.svg
    run -69 env PATH=none "$COLLRUN" plot shm.jsonl --svg a.svg
    [[ $output = *"gnuplot-nox"*"--script FILE"* ]]
    [ ! -e a.svg ]
}
