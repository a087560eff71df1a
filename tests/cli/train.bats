# SPDX-License-Identifier: MIT
#
# collrun train: the quality of its models, equal results for any number of
# ranks, its counters, and its errors.

collrun=${COLLRUN:-build/collrun}

setup() {
    work=$(mktemp -d)
    make_rows >"$work/rows"
}

teardown() {
    rm -rf "$work"
}

# 300 rows of 8 features; the sign of a sum of three decides the label, mostly.
make_rows() {
    awk 'BEGIN {
        state = 7
        for (row = 0; row < 300; row++) {
            sum = 0
            line = ""
            for (j = 1; j <= 8; j++) {
                state = (state * 16807) % 2147483647
                value = state / 2147483647 * 2 - 1
                line = line sprintf(" %d:%.4f", j, value)
                sum += j <= 3 ? value : value / 5
            }
            print (sum > 0 ? "+1" : "-1") line
        }
    }'
}

heart_scale() {
    examples=/usr/share/doc/liblinear-tools/examples
    if [ -f "$examples/heart_scale" ]; then
        cp "$examples/heart_scale" "$work"
    elif [ -f "$examples/heart_scale.gz" ]; then
        gzip -dc "$examples/heart_scale.gz" >"$work/heart_scale"
    else
        skip "the data set heart_scale is not installed"
    fi
}

train() {
    run "$collrun" train "$@"
    echo "$output"
}

# The number of a JSON member: the last of that name.
member() {
    grep -o "\"$1\":[-+.0-9e]*" <<<"$output" | tail -n 1 | cut -d : -f 2
}

# The losses of the rows and the final one, one per line.
curve() {
    grep -o '"\(train_\)\?loss":[-+.0-9e]*' <<<"$output" | cut -d : -f 2
}

holds() {
    awk "BEGIN { exit !($1) }"
}

# Two members are the same but for rounding.
expect_close() {
    holds "($(member "$1") / $(member "$2") - 1) ^ 2 < 1e-20"
}

# $1 and $2 have one number per line, equal to within 1e-5.
expect_same_curve() {
    paste "$1" "$2" | awk '
        NF != 2 || $1 <= 0 { exit 1 }
        { d = $1 / $2 - 1; if (d < -1e-5 || d > 1e-5) exit 1; n++ }
        END { exit n < 4 }'
}

refused() {
    want=$1 sentence=$2
    shift 2
    train "$@"
    [ "$status" -eq "$want" ]
    [[ $output == *"$sentence"* ]]
}

@test "heart_scale: the model is learnt" {
    heart_scale
    train lr "$work/heart_scale" -n 4 --algo ring -o json
    [ "$status" -eq 0 ]
    holds "$(member train_accuracy) > 0.82 && $(member train_accuracy) < 0.9"
    holds "$(member train_loss) > 0.3 && $(member train_loss) < 0.36"
}

@test "JSON has the documented members, and they agree" {
    train lr "$work/rows" --test "$work/rows" -n 3 --algo ring --batch 50 \
        --epochs 4 --seed 9 -o json
    [ "$status" -eq 0 ]
    for name in train_loss test_loss test_accuracy samples_per_s comm_share \
        bytes_per_step ranks steps seed; do
        [ -n "$(member "$name")" ]
    done
    [ "$(member ranks)" -eq 3 ]
    [ "$(member steps)" -eq 24 ]
    [ "$(member seed)" -eq 9 ]
    [ "$(member status)" -eq 0 ]
    expect_close test_loss train_loss
    holds "$(member comm_share) > 0 && $(member comm_share) < 1"
}

@test "the counts on the wire are those of the formula" {
    # 8 weights, a bias and 3 more numbers of 4 bytes; the ring sends each of
    # them 2(p-1) times.
    for ranks in 2 3 4; do
        train lr "$work/rows" -n "$ranks" --algo ring --epochs 2 -o json
        [ "$(member bytes_per_step)" -eq $((2 * (ranks - 1) * 12 * 4)) ]
        [ "$(member bytes_per_step_formula)" -eq "$(member bytes_per_step)" ]
    done
    train lr "$work/rows" -n 1 --epochs 2 -o json
    [ "$(member bytes_per_step)" -eq 0 ]
}

@test "the loss curve is the same for 1, 2, 3 and 4 ranks" {
    for ranks in 1 2 3 4; do
        train lr "$work/rows" -n "$ranks" --batch 32 --epochs 6 -o json
        [ "$status" -eq 0 ]
        curve >"$work/curve$ranks"
        expect_same_curve "$work/curve1" "$work/curve$ranks"
    done
}

@test "the loss curve is the same over every wire and algorithm" {
    train softmax "$work/rows" -n 1 --batch 75 --epochs 4 -o json
    curve >"$work/alone"
    for wire in shm ipc tcp; do
        for algo in ring rabenseifner one_shot circulant; do
            train softmax "$work/rows" -n 3 --wire "$wire" --algo "$algo" \
                --batch 75 --epochs 4 -o json
            [ "$status" -eq 0 ]
            curve >"$work/shared"
            expect_same_curve "$work/alone" "$work/shared"
        done
    done
}

@test "a plan file adds up the gradients" {
    plans=${BATS_TEST_DIRNAME}/../../labs/plans
    train lr "$work/rows" -n 3 --algo ring --epochs 4 -o json
    curve >"$work/ring"
    bytes=$(member bytes_per_step)
    train lr "$work/rows" --algo "$plans/ring-allreduce-3.plan" --epochs 4 -o json
    [ "$status" -eq 0 ]
    [ "$(member ranks)" -eq 3 ]
    [ "$(member bytes_per_step)" -eq "$bytes" ]
    [ "$(member bytes_per_step_formula)" -eq "$bytes" ]
    [[ $output = *'"algo":"'*'/ring-allreduce-3.plan"'* ]]
    curve >"$work/own"
    expect_same_curve "$work/ring" "$work/own"
    train cartpole --algo "$plans/ring-allreduce.plan" -n 2 -E 1 -o json
    [ "$status" -eq 0 ]
    [ "$(member bytes_per_update)" = "$(member bytes_per_update_formula)" ]
    refused 1 "wrong-incomplete.plan, 3 ranks: " lr "$work/rows" --algo "$plans/wrong-incomplete.plan"
    printf 'broadcast ranks=2 chunks=1\nstep 0>1 c0 =\n' >"$work/b.plan"
    refused 64 "b.plan is a plan for broadcast, not for allreduce" lr "$work/rows" --algo "$work/b.plan"
}

@test "the seed decides the order, and nothing else does" {
    train lr "$work/rows" -n 2 --epochs 3 --seed 5 -o json
    curve >"$work/first"
    train lr "$work/rows" -n 2 --epochs 3 --seed 5 -o json
    curve >"$work/second"
    cmp "$work/first" "$work/second"
    train lr "$work/rows" -n 2 --epochs 3 --seed 6 -o json
    curve >"$work/third"
    run cmp -s "$work/first" "$work/third"
    [ "$status" -ne 0 ]
}

@test "a full batch is one step per epoch with any seed" {
    train lr "$work/rows" -n 2 --full-batch --epochs 5 --seed 1 -o json
    [ "$(member steps)" -eq 5 ]
    curve >"$work/first"
    train lr "$work/rows" -n 3 --full-batch --epochs 5 --seed 2 -o json
    curve >"$work/second"
    expect_same_curve "$work/first" "$work/second"
}

@test "more ranks than rows in a batch" {
    train lr "$work/rows" -n 4 --batch 3 --epochs 1 -o json
    [ "$status" -eq 0 ]
    [ "$(member steps)" -eq 100 ]
}

@test "a table as text, and one row per epoch in JSON lines" {
    train lr "$work/rows" -n 2 --epochs 3
    [ "$status" -eq 0 ]
    [[ $output == *"# train_accuracy: 0."* ]]
    [[ $output == *"# bytes_per_step: 96, sent by all ranks together"* ]]
    train lr "$work/rows" -n 2 --epochs 3 -o jsonl
    [ "$(grep -c '^{"epoch":' <<<"$output")" -eq 3 ]
    [ "${#lines[@]}" -eq 4 ]
    [ -n "$(member train_loss)" ]
}

@test "values are scaled by the largest unless an option prevents it" {
    sed 's/\(:[-0-9.]*\)/\1e3/g' "$work/rows" >"$work/large"
    train lr "$work/rows" -n 2 --epochs 3 -o json
    holds "$(member scale) == 1"
    curve >"$work/first"
    train lr "$work/large" -n 2 --epochs 3 -o json
    holds "$(member scale) > 0.00099 && $(member scale) < 0.00101"
    curve >"$work/second"
    expect_same_curve "$work/first" "$work/second"
    train lr "$work/large" -n 2 --epochs 3 --scale none --lr 1e-6 -o json
    [ "$status" -eq 0 ]
    holds "$(member scale) == 1"
}

@test "test features that training does not have are ignored and counted" {
    sed 's/$/ 9:1 11:0.5/' "$work/rows" >"$work/wider"
    train lr "$work/rows" --test "$work/wider" -n 2 --epochs 2 -o json
    [ "$status" -eq 0 ]
    [ "$(member ignored)" -eq 600 ]
    expect_close test_loss train_loss
}

@test "a bad line: file, line and column, status 65" {
    { cat "$work/rows" && echo "+1 1:0.5 2:x"; } >"$work/bad"
    refused 65 "$work/bad:301:12: expected a number after the colon" \
        lr "$work/bad" -n 2
    refused 65 "$work/bad:301:12:" lr "$work/rows" --test "$work/bad" -n 2
    refused 65 '"status":65' lr "$work/bad" -n 2 -o json
}

@test "files without usable rows: status 65" {
    : >"$work/empty"
    refused 65 "the file has no row" lr "$work/empty"
    refused 65 "No such file" lr "$work/nowhere"
    refused 65 "No such file" lr "$work/rows" --test "$work/nowhere"
    printf '1 1:1\n1 1:2\n' >"$work/same"
    refused 65 "training needs at least two labels" lr "$work/same"
    printf '1 1:1\n2 1:2\n3 1:3\n' >"$work/three"
    refused 65 "lr needs two labels, but there are 3" lr "$work/three"
    refused 65 "the label 2 does not occur in the training data" \
        lr "$work/rows" --test "$work/three"
    printf '+1 0:1\n' >"$work/zero"
    refused 65 "counts from 1" lr "$work/rows" --test "$work/zero"
}

@test "wrong usage: status 64" {
    refused 64 "use lr or softmax" svm "$work/rows"
    refused 64 "--lr must be greater than 0" lr "$work/rows" --lr 0
    refused 64 "--momentum" lr "$work/rows" --momentum 1
    refused 64 "--ranks must be at least 1" lr "$work/rows" -n 0
    refused 64 "--batch must be at least 1" lr "$work/rows" --batch 0
    refused 64 "unknown algorithm" lr "$work/rows" --algo rings
    refused 64 "missing operand; name a file" lr
    refused 64 "--set is only for cartpole and net" lr "$work/rows" --set hidden=4
    refused 64 "cartpole makes its own data" cartpole "$work/rows"
    refused 64 "remove --schedule" cartpole --schedule constant
    refused 64 "has no setting window" cartpole --set window=3
}

@test "an agent's weights are the same bits for any ranks, wire, algorithm" {
    train cartpole -n 1 -E 2 -o json
    digest=$(grep -o '"digest":"[^"]*"' <<<"$output")
    [ -n "$digest" ]
    awk -v r="$(member test_return)" 'BEGIN { exit !(r > 100) }'
    for how in "-n 2 -w ipc" "-n 3 -a ring" "-n 5 -a recursive_doubling" \
        "-n 20 -a ring"; do
        # shellcheck disable=SC2086 # options apart by blanks
        train cartpole $how -E 2 -o json
        [ "$status" -eq 0 ]
        [ "$(grep -o '"digest":"[^"]*"' <<<"$output")" = "$digest" ]
        [ "$(member bytes_per_update)" = "$(member bytes_per_update_formula)" ]
    done
}

# The text of a JSON member.
text() {
    grep -o "\"$1\":\"[^\"]*\"" <<<"$output" | tail -n 1 | cut -d '"' -f 4
}

@test "rows on demand: the same bits, each byte read once per epoch by one rank" {
    export XDG_CACHE_HOME=$work/cache
    # A comment in a row is ignored, but its bytes are read.
    sed 's/3 /3 # no value/;1s/^/# rows\n\n/' "$work/rows" >"$work/own"
    bytes=$(tail -n +3 "$work/own" | wc -c)
    for model in lr softmax; do
        train "$model" "$work/own" --test "$work/rows" -n 3 -E 4 -b 32 -o json
        [[ $output != *data_bytes* ]]
        wanted=$(curve && member objective && member test_loss)
        train "$model" "$work/own" --test "$work/rows" -n 3 -E 4 -b 32 -o json \
            --on-demand
        [ "$status" -eq 0 ]
        [ "$(curve && member objective && member test_loss)" = "$wanted" ]
        [ "$(member data_bytes_read)" -eq $((4 * bytes)) ]
        [ "$(member data_bytes_formula)" -eq $((4 * bytes)) ]
        [ "$(member data_bytes_most)" -ge $((4 * bytes / 3)) ]
        [ "$(member data_bytes_most)" -lt $((2 * bytes)) ]
    done
    [ -n "$(ls "$XDG_CACHE_HOME"/gradwire/rows)" ]
    train lr "$work/own" -n 2 -E 4 --on-demand --until 'loss<9'
    [[ $output == *"# data_bytes_formula: $bytes: $bytes of all rows, 1 epochs"* ]]
    refused 64 "--on-demand is only for lr and softmax" cartpole --on-demand
}

@test "a file larger than what a process may read trains on demand" {
    [ -z "${SAN-}" ] || skip "a sanitizer takes addresses of its own"
    export XDG_CACHE_HOME=$work/cache MALLOC_ARENA_MAX=1
    awk 'BEGIN {
        pad = "#"
        while (length(pad) < 131072)
            pad = pad pad
        for (row = 0; row < 400; row++)
            print row % 2, "1:" row % 2, "2:" row % 3, pad
    }' >"$work/large"
    run bash -c 'ulimit -v 200000 && exec "$@"' - "$collrun" train lr \
        "$work/large" -n 2 -E 2 -w ipc -o json
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(member data_bytes_read)" -eq $((2 * $(wc -c <"$work/large"))) ]
    holds "$(member train_accuracy) == 1"
}

@test "weights that rank 0 broadcasts are the same bits as those of the seed" {
    train lr "$work/rows" -n 3 -E 3 -o json
    same=$(curve)
    [ "$(text init)" = same ]
    [ "$(member init_bytes)" -eq 0 ]
    train lr "$work/rows" -n 3 -E 3 --init broadcast -o json
    [ "$status" -eq 0 ]
    [ "$(curve)" = "$same" ]
    [ "$(member init_bytes)" -ge $((2 * 4 * $(member parameters))) ]
    [ "$(member bytes_per_step)" = "$(member bytes_per_step_formula)" ]
    train cartpole -n 1 -E 1 -o json
    same=$(text digest)
    train cartpole -n 3 -E 1 --init broadcast -o json
    [ "$(text digest)" = "$same" ]
    [ "$(member init_bytes)" -ge $((2 * 4 * $(member parameters))) ]
}

@test "--until ends after the first epoch whose loss meets it, on all ranks" {
    train lr "$work/rows" -n 3 -E 20 --schedule constant -o json
    [ "$(text ended)" = epochs ]
    third=$(curve | sed -n 3p)
    train lr "$work/rows" -n 3 -E 20 --schedule constant \
        --until "loss<$third" -o json
    [ "$status" -eq 0 ]
    [ "$(text ended)" = until ]
    [ "$(member epoch)" -eq 4 ]
    [ "$(member steps)" -eq 20 ]
    holds "$(curve | sed -n 4p) < $third"
    train lr "$work/rows" -n 3 --until 'loss<0.69'
    [[ $output == *"ended"*"after epoch 1, loss<0.69"* ]]
    train cartpole -n 2 -E 3 --until 'loss<1e9' -o json
    [ "$(text ended)" = until ]
    [ "$(member epoch)" -eq 0 ]
    refused 64 "--until must be loss<NUMBER" lr "$work/rows" --until 'step>3'
    refused 64 "--until: column 6" lr "$work/rows" --until 'loss<'
}

@test "divergence is a message and status 1" {
    refused 1 "training diverges" \
        softmax "$work/rows" -n 2 --lr 1e9 --l2 1 -o json
    [ "$(member status)" -eq 1 ]
}

@test "Ctrl-C: the results so far, marked partial, status 130" {
    "$collrun" train lr "$work/rows" -n 2 --batch 1 --epochs 100000 -o json \
        >"$work/out" 2>"$work/err" &
    pid=$!
    until grep -q '"epoch":2' "$work/out"; do
        kill -0 "$pid"
        sleep 0.02
    done
    kill -INT "$pid"
    code=0
    wait "$pid" || code=$?
    output=$(cat "$work/out")
    tail -n 1 "$work/out"
    [ "$code" -eq 130 ]
    [[ $output == *'"partial":true,"status":130'* ]]
    holds "$(member train_loss) > 0"
    holds "$(member steps) >= 600"
    [ "$(member bytes_per_step)" -eq "$(member bytes_per_step_formula)" ]
}

# ---- data sets that need a download ----

reaches() {
    model=$1 set=$2 accuracy=$3
    [ -f "${GRADWIRE_DATA:-}/$set.train.libsvm" ] ||
        skip "GRADWIRE_DATA names no folder with $set (labs/data/get.sh $set)"
    train "$model" "$GRADWIRE_DATA/$set.train.libsvm" \
        --test "$GRADWIRE_DATA/$set.test.libsvm" -n 4 -o json
    [ "$status" -eq 0 ]
    holds "$(member test_accuracy) >= $accuracy"
}

@test "lr on a9a reaches 84.9 %" {
    reaches lr a9a 0.849
}

@test "lr on mushrooms reaches 100 %" {
    reaches lr mushrooms 1
}

@test "softmax on optdigits reaches 94.5 %" {
    reaches softmax optdigits 0.945
}
