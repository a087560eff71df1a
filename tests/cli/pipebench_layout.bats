#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# pipebench layout: its tables and inserted collectives. Every way to split a
# network learns the same as one process and moves the bytes of the formulas.
# Configurations that do not fit are refused.

setup_file() {
    bats_require_minimum_version 1.5.0
    PIPEBENCH=$(realpath "$(dirname "${COLLRUN:-build/collrun}")/pipebench")
    NETS=$(realpath "$BATS_TEST_DIRNAME/../../labs/nets")
    export PIPEBENCH NETS
    cd "$BATS_FILE_TMPDIR" || return 1
    make_rows 480 7 >rows
    make_rows 160 11 >judged
    make_net >small.net
}

setup() {
    cd "$BATS_FILE_TMPDIR" || return 1
}

# $1 rows of 16 features, from seed $2; the largest of four sums is the label.
make_rows() {
    awk -v rows="$1" -v state="$2" 'BEGIN {
        for (row = 0; row < rows; row++) {
            line = ""
            split("0 0 0 0", sum, " ")
            for (j = 1; j <= 16; j++) {
                state = (state * 16807) % 2147483647
                value = state / 2147483647
                line = line sprintf(" %d:%.4f", j, value)
                sum[j % 4 + 1] += value
            }
            best = 1
            for (c = 2; c <= 4; c++)
                if (sum[c] > sum[best])
                    best = c
            print best line
        }
    }'
}

make_net() {
    printf '%s\n' 'network small' 'input 16' 'dense 16' relu 'dense 8' \
        tanh 'dense 4' softmax
}

layout() {
    run --separate-stderr "$PIPEBENCH" layout "$@"
    echo "$output"
    # shellcheck disable=SC2154 # bats sets it
    echo "$stderr"
}

# The number of a JSON member: the last of that name.
member() {
    grep -o "\"$1\":[-+.0-9e]*" <<<"$output" | tail -n 1 | cut -d : -f 2
}

# Trains 20 steps on a mesh and compares losses, bytes and memory with one
# process and the formulas: any difference fails the run.
agrees() {
    layout small.net --mesh "$@" --run --data rows --test judged --compare \
        --steps 20 --batch 48 -o json
    [ "$status" -eq 0 ]
    [ "$(member steps)" -eq 20 ]
    [ "$(grep -c '"step":' <<<"$output")" -eq 20 ]
    for what in tensor data pipe activation; do
        [ "$(member ${what}_bytes)" -eq "$(member ${what}_bytes_predicted)" ]
    done
    awk -v d="$(member largest_difference)" 'BEGIN { exit !(d <= 1e-5) }'
}

@test "digits as images: convolutions split by channel" {
    layout "$NETS/digits-conv.net" --mesh 1x2x1
    [ "$status" -eq 0 ]
    # One all-reduce after a pair of convolutions, another after the dense
    # layer.
    [ "$(grep -c 'forward *allreduce' <<<"$output")" -eq 2 ]
    [[ $output =~ operator\ +add\ +columns\ +"by feature" ]]
    data=${GRADWIRE_DATA:-}
    [ -f "$data/optdigits.train.libsvm" ] ||
        skip "GRADWIRE_DATA names no folder with optdigits (labs/data/get.sh optdigits)"
    layout "$NETS/digits-conv.net" --mesh 1x2x1 --run --steps 150 --lr 0.2 \
        --data "$data/optdigits.train.libsvm" --test "$data/optdigits.test.libsvm" -o json
    awk -v a="$(member test_accuracy)" 'BEGIN { exit !(a >= 0.9) }'
}

@test "a table shows operators and the inserted conversions" {
    layout "$NETS/digits.net" --mesh 1x2x1
    [ "$status" -eq 0 ]
    [[ $output =~ operator\ +dense\ +columns\ +replicated\ +"by feature"\ +64x64\ +4160 ]]
    [[ $output =~ operator\ +dense\ +rows\ +"by feature"\ +partial\ +64x10\ +650 ]]
    # 2 (T-1)/T of 64 rows of 10 numbers
    [[ $output =~ forward\ +allreduce\ +inserted\ +partial\ +replicated\ +-\ +-\ +2560 ]]
    [[ $output =~ held\ +parameters\ .*19240\ +38440 ]]
}

@test "--bars: GPipe holds the activations of all micro-batches, 1F1B of p - s" {
    printf '%s\n' 'network even' 'input 16' 'dense 16' tanh stage 'dense 16' \
        tanh stage 'dense 16' softmax >even.net
    # Output and gradient of both operators: 4 x 16 numbers for each of 8 rows.
    micro=$((4 * 16 * 4 * 8))
    layout even.net --mesh 1x1x3 -m 6 -b 48 -s gpipe --bars -o csv
    [[ ${lines[0]} == stage,parameter_bytes,gradient_bytes,*,activation_bytes,held_bytes,* ]]
    [ "$(cut -d , -f 6 <<<"${lines[2]}")" -eq $((6 * micro)) ]
    layout even.net --mesh 1x1x3 -m 6 -b 48 -s 1f1b --bars -o csv
    [ "$(cut -d , -f 6 <<<"${lines[2]}")" -eq $((2 * micro)) ]
    parts=$(awk -F , 'NR == 3 { print $2 + $3 + $4 + $5 + $6 - $7 }' <<<"$output")
    [ "$parts" = 0 ]

    # Bars have the scale of the longest, which is 56 letters; P, G and O are
    # equal.
    layout even.net --mesh 1x1x3 -m 6 -b 48 -s gpipe --bars
    bars=$(grep -o 'P[PGOA]*$' <<<"$output")
    [ "$(head -n 1 <<<"$bars" | tr -d '\n' | wc -c)" -eq 56 ]
    [[ $bars =~ ^P+G+O+A{35,}$'\n' ]]
    [[ $output == *"letters: Parameters,"* ]]
    # Stage 2 is below the limit and stage 0 above it.
    layout even.net --mesh 1x1x3 -m 6 -b 48 -s gpipe --bars --memory 15000
    [[ $output =~ 0\ +[0-9]+\ +P+G+O+A+\|A+ ]]
    [[ $output =~ 2\ +[0-9]+\ +P+G+O+A+\.+\| ]]
    layout small.net --bars --topo torus:2
    [ "$status" -eq 64 ]
    [[ $stderr == *"--bars allows neither --run nor --topo"* ]]
}

@test "all formats have the same fields" {
    layout small.net --mesh 2x2x2 --batch 64 -o jsonl
    [ "$status" -eq 0 ]
    rows=$(wc -l <<<"$output")
    [ "$(grep -c '"kind":.*"what":.*"bytes":' <<<"$output")" -ge $((rows - 1)) ]
    layout small.net --mesh 2x2x2 --batch 64 -o csv
    [ "$status" -eq 0 ]
    [[ ${lines[0]} == stage,kind,what,split,in,out,shape,parameters,bytes,* ]]
}

@test "data parallel, sharded or not, learns as one process" {
    agrees 2
    [ "$(member data_bytes)" -gt 0 ]
    agrees 2 --mode zero1 --optimiser adam --wire tcp
    agrees 4 --mode sharded --group 2 --optimiser adam --bucket 256
    [ "$(member optimiser_bytes)" -lt $((8 * 444)) ]
    agrees 2 --mode sharded --micro 3 --no-overlap
    [ "$(member gathered_bytes)" -gt 0 ]
}

@test "tensor and pipeline parallel learn as one process" {
    agrees 1x2x1
    [ "$(member tensor_bytes)" -gt 0 ]
    agrees 1x1x2 --schedule zb-h1 --micro 4
    [ "$(member pipe_bytes)" -gt 0 ]
}

@test "all three at once learn as one process" {
    agrees 2x2x2 --micro 2 --mode sharded
    [ "$(member tensor_bytes)" -gt 0 ]
    [ "$(member data_bytes)" -gt 0 ]
    [ "$(member pipe_bytes)" -gt 0 ]
}

# Rows, columns, batch and none, one after the other: every kind of conversion.
@test "any split after any other learns as one process" {
    for splits in "rows batch columns batch" "batch columns none none" \
        "none rows batch none" "columns columns rows batch"; do
        # shellcheck disable=SC2086 # four words
        printf 'network small\ninput 16\ndense 16 %s\nrelu\ndense 8 %s\ntanh\ndense 4 %s\nsoftmax %s\n' \
            $splits >small.net
        agrees 1x2x1 --steps 20
    done
    make_net >small.net
}

@test "the seed determines the run, and is printed" {
    agrees 2 --seed 5
    [ "$(member seed)" -eq 5 ]
    five=$(member loss_last)
    agrees 1 --seed 6
    [ "$(member loss_last)" != "$five" ]
}

@test "--until ends all ranks after the same step" {
    layout small.net --mesh 2x1x2 --run --data rows --steps 200 --batch 48 \
        --until 'loss<1.3' -o json
    [ "$status" -eq 0 ]
    [[ $output = *'"ended":"until"'* ]]
    [ "$(member steps)" -lt 200 ]
    [ $(($(member steps) % 10)) -eq 0 ]
    layout small.net --mesh 2 --until 'loss<1'
    [ "$status" -eq 64 ]
}

@test "it learns digits" {
    data=${GRADWIRE_DATA:-}
    [ -f "$data/optdigits.train.libsvm" ] ||
        skip "GRADWIRE_DATA names no folder with optdigits (labs/data/get.sh optdigits)"
    layout "$NETS/digits.net" --mesh 2 --run --optimiser adam --steps 2000 \
        --data "$data/optdigits.train.libsvm" \
        --test "$data/optdigits.test.libsvm" -o json
    [ "$status" -eq 0 ]
    awk -v a="$(member test_accuracy)" 'BEGIN { exit !(a >= 0.96) }'
}

refused() {
    want=$1
    shift
    layout "$@"
    [ "$status" -eq "$want" ]
    [ -z "$output" ]
}

@test "an invalid network is refused with the place of the mistake" {
    refused 65 "$NETS/wrong-shapes.net"
    [[ $stderr == *"wrong-shapes.net:9:7: it expects 100 features, but gets 128"* ]]
    refused 64 "$NETS/wrong-mesh.net" --mesh 1x4x1
    [[ $stderr == *"wrong-mesh.net: "*"line 10: operator 3, dense: its 10 output"* ]]
    layout "$NETS/wrong-mesh.net" --mesh 1x2x1
    [ "$status" -eq 0 ]
    refused 65 nothing.net
}

@test "a mesh that does not fit is refused" {
    refused 64 small.net --mesh 2x2x2x2
    [[ $stderr == *'"2x2x2x2" is not a mesh; write'* ]]
    refused 64 small.net --mesh 3
    [[ $stderr == *"a batch of 64 rows must be divisible by 3 data ranks"* ]]
    refused 64 small.net --mesh 4 --mode sharded --group 3
    [[ $stderr == *"a shard group of 3 does not divide the 4 ranks"* ]]
    refused 64 small.net --mesh 1x1x6 --micro 1
    [[ $stderr == *"operators are too few for 6 parts"* ]]
    refused 64 small.net --mesh 1x1x2 --schedule 1f2b
    [[ $stderr == *'did you mean "1f1b"?'* ]]
}

@test "data that does not fit is refused" {
    refused 64 small.net --run
    [[ $stderr == *"--run needs training rows; add --data"* ]]
    refused 64 small.net --data rows
    echo "1 17:1" >wide
    refused 65 small.net --run --data wide
    [[ $stderr == *"the rows have 17 features, but the network small has 16 inputs"* ]]
    printf '%s\n' "1 1:1" "2 1:1" "3 1:1" "4 1:1" "5 1:1" >many
    refused 65 small.net --run --data many
    [[ $stderr == *"5 labels"* ]]
    head -n 5 rows >few
    refused 65 small.net --run --data few
    [[ $stderr == *"do not fill a batch of 64"* ]]
}

@test "on a terminal of 100 columns a row is a line, and a sharding one word" {
    command -v script >/dev/null || skip "script(1) is not installed"
    run script -qec "stty cols 100; $PIPEBENCH layout $NETS/deep.net --mesh 1x4x1" \
        /dev/null </dev/null
    [ "$status" -eq 0 ]
    plain=$(printf '%s\n' "$output" | tr -d '\r' | sed 's/\x1b\[[0-9;]*[mK]//g')
    [[ $plain = *"replicated  by feature  64x32"* ]]
    run awk 'length > 100' <<<"$plain"
    [ "$output" = "" ]
}

@test "--topo times a step in both orders, and the orders differ" {
    topo=$NETS/../topologies/infiniband.topo
    layout "$NETS/digits.net" --mesh 2x8x1 --topo "$topo" -o json
    [ "$status" -eq 0 ]
    [[ $output =~ '"faster_order":"data"' ]]
    awk -v f="$(member times_faster)" 'BEGIN { exit !(f > 1) }'
    # The inserted collectives move equally many bytes in either order, over
    # other links.
    row=$(grep '"kind":"gradients"' <<<"$output")
    [ "$(grep -o '"model_bytes":[0-9]*' <<<"$row" | cut -d : -f 2)" -eq \
        "$(grep -o '"data_bytes":[0-9]*' <<<"$row" | cut -d : -f 2)" ]
    layout "$NETS/digits.net" --mesh 2x8x1 --topo "$topo"
    [[ $output =~ step\ +whole ]]
    [[ $output =~ held\ +activations ]]
    [[ $output =~ link\ +infiniband ]]
    layout "$NETS/digits.net" --mesh 2x8x1 --topo "$topo" --without direct --links -o csv
    [ "$status" -eq 0 ]
    grep -q '^link,a.cpu0>a.cpu1 qpi,' <<<"$output"
    run ! grep '^link,[^,]* direct,' <<<"$output"
}

@test "--search prints the best layout and why others lost, within the memory limit" {
    topo=$NETS/../topologies/server-8.topo
    layout small.net --topo "$topo" --search -o jsonl
    [ "$status" -eq 0 ]
    [[ ${lines[0]} =~ '"position":1'.*'"why":"fastest"' ]]
    held=$(grep -o '"held_bytes":[0-9]*' <<<"${lines[0]}" | cut -d : -f 2)
    layout small.net --topo "$topo" --search --memory $((held - 1)) -o jsonl
    [ "$status" -eq 0 ]
    [ "$(grep -o '"held_bytes":[0-9]*' <<<"${lines[0]}" | cut -d : -f 2)" -lt "$held" ]
    layout small.net --topo "$topo" --search --memory 64 -o json
    [ "$status" -eq 1 ]
    [[ $output =~ '"why":"memory: ' ]]
    [[ $stderr =~ "no layout fits in 64 bytes per rank" ]]
}

# Its standard input without the times of the runs.
without_dates() {
    sed -E 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z/date/'
}

@test "--algo: all-reduces by a plan file, simulated as the same algorithm, and run" {
    topo=$NETS/../topologies/server-8.topo
    cp "$NETS/../plans/ring-allreduce.plan" mine.plan
    layout small.net --mesh 4x2x1 --topo "$topo" --algo mine.plan -o csv
    [ "$status" -eq 0 ]
    grep -q ',mine.plan,' <<<"$output"
    mine=$(without_dates <<<"${output//mine.plan/ring}")
    layout small.net --mesh 4x2x1 --topo "$topo" --algo ring -o csv
    [ "$(without_dates <<<"$output")" = "$mine" ]
    layout small.net --mesh 4x2x1 --topo "$topo" --algo one_shot -o csv
    [ "$(without_dates <<<"$output")" != "$mine" ]
    layout small.net --topo "$topo" --search --algo mine.plan -o json
    [ "$status" -eq 0 ]
    # Training: the result is that of one process, whatever is sent.
    for algo in mine.plan one_shot; do
        layout small.net --mesh 4x1x1 --run --data rows --compare --steps 5 --batch 48 \
            --algo $algo -o json
        [ "$status" -eq 0 ]
        awk -v d="$(member largest_difference)" 'BEGIN { exit !(d <= 1e-5) }'
    done
    [ "$(member data_bytes)" -gt "$(member data_bytes_predicted)" ]
    layout small.net --mesh 3x1x1 --topo "$topo" --batch 48 \
        --algo "$NETS/../plans/wrong-incomplete.plan"
    [ "$status" -eq 1 ]
    [[ $stderr = *"wrong-incomplete.plan, 3 ranks: "* ]]
    layout small.net --algo ring
    [ "$status" -eq 64 ]
}

@test "options of a cluster that do not fit are refused" {
    topo=$NETS/../topologies/server-8.topo
    layout small.net --search
    [ "$status" -eq 64 ]
    [[ $stderr =~ "--search needs --topo FILE" ]]
    layout small.net --topo "$topo" --memory 1K
    [ "$status" -eq 64 ]
    layout small.net --topo "$topo" --run --data rows
    [ "$status" -eq 64 ]
    layout small.net --topo "$topo" --mesh 16
    [ "$status" -eq 64 ]
    [[ $stderr =~ "the mesh has 16 ranks, but the topology has 8" ]]
    layout small.net --topo nowhere.topo
    [ "$status" -eq 65 ]
}
