#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# psnode as a person meets it: help, typos, bad input. Small trainings are equal
# to those of one process, and benchmarks have correct sums. Also clusters by
# hand and snapshots. No process outlives its test.
# shellcheck disable=SC2154 # find_port sets port

load ../until.bash

setup_file() {
    bats_require_minimum_version 1.5.0
    BUILD=$(realpath "${B:-build}")
    export BUILD MAN=$PWD/man/psnode.1
    unset GRADWIRE_RUN GRADWIRE_RUNS
    # shellcheck disable=SC2046
    ${CC:-cc} -o "$BATS_FILE_TMPDIR/jsoncheck" tests/cli/jsoncheck.c \
        $(pkg-config --cflags --libs jansson)
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
}

# Kills the processes that a test has started and left.
teardown() {
    for pid in "${started[@]}"; do
        kill -9 "$pid" 2>/dev/null || true
    done
    [ ! -d runs ] || "$BUILD/ringctl" down --all >/dev/null
}

# The document without its provenance.
undated() {
    sed 's/,"provenance":{[^}]*}//' "$1"
}

psnode() {
    timeout 300 "$BUILD/psnode" "$@" </dev/null 3>&-
}

ringctl() {
    "$BUILD/ringctl" "$@" </dev/null 3>&-
}

# start OUT ARGUMENTS: in the background; its pid is the last of `started`. A
# shell makes background commands ignore SIGINT and SIGQUIT, and nohup makes all
# of them ignore SIGHUP; env resets that.
start() {
    env --default-signal=HUP,INT,QUIT "$BUILD/psnode" "${@:2}" >"$1" 2>"$1.err" \
        </dev/null 3>&- &
    started+=($!)
}

# The value at a path of a JSON document: json KEY... < document
json() {
    "$BATS_FILE_TMPDIR/jsoncheck" "$@"
}

# 300 rows of 8 features; the sign of a sum of three decides the label.
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
                sum += j <= 3 ? value : 0
            }
            print (sum > 0 ? "+1" : "-1") line
        }
    }'
}

# ---- words ----

@test "help: examples first, every command" {
    run -0 --separate-stderr psnode --help
    [[ ${lines[1]} = Examples:* ]]
    for command in train bench sim controller server worker snapshot \
        restore; do
        [[ $output = *$'\n'"  $command "* ]]
    done
    [ -z "$stderr" ]
    run -0 psnode help train
    [[ $output = *Examples:*"psnode train lr"* ]]
}

@test "a typo gets a suggestion, and status 64" {
    run -64 psnode trian lr x
    [[ $output = *'did you mean "train"?'* ]]
    run -64 psnode bench push --wire smh
    [[ $output = *'did you mean "shm"?'* ]]
    run -64 psnode bench pussh
    [[ $output = *'use push, pull or pushpull'* ]]
    run -64 psnode train drift --set raet=1
    [[ $output = *'did you mean "rate"?'* ]]
    run -64 psnode train lr
    [[ $output = *'name a file'* ]]
    run -64 psnode train drift --mode kofn
    [[ $output = *kofn* ]]
    run -64 psnode train mf --servers 2 --replicas 3
    [[ $output = *'--replicas 3: only 2 servers; use at most that many'* ]]
    run -64 psnode bench push --keys 0
    [[ $output = *'--keys must be from 1 to'* ]]
    run -64 psnode server
    [[ $output = *'--join tcp://host:port'* ]]
    run -64 psnode server --join tcp://127.0.0.1:7,tcp://127.0.0.1:8
    [[ $output = *'1, 3 or 5 controllers, not 2'* ]]
    run -64 psnode controller --peers tcp://127.0.0.1:7 --index 1 --dir c
    [[ $output = *'--index 1: must be less than the number of peers, 1'* ]]
    [ ! -e c ] && [ ! -e runs ]
}

# An option is described with its command, or in a section for several commands.
@test "every command and option of the table is in the man page" {
    psnode completion words >listed
    [ "$(wc -l <listed)" -ge 50 ]
    missing=
    while read -r command option; do
        part=$command
        case $command in
        restore | worker) part="$command|train|Joining" ;;
        server | controller) part="$command|Joining" ;;
        esac
        case $command,$option in
        --*) grep -Eq "^\.It .*Fl .-${command#--}( |\$)" "$MAN" ;;
        *,) grep -q "^\.Ss $command\$" "$MAN" ;;
        *) awk -v part="^($part)\$" '/^\.S[sh] / { on = $2 ~ part } on' "$MAN" |
            grep -Eq "^\.It .*Fl .-${option#--}( |\$)" ;;
        esac || missing+=" $command $option;"
    done <listed
    echo "missing:$missing"
    [ -z "$missing" ]
}

# ---- bench ----

@test "bench: over every wire, the stored values are the sums of the pushes" {
    for wire in shm ipc tcp; do
        psnode bench push --keys 5000 --floats 3 --servers 2 --workers 2 \
            --replicas 2 --wire $wire --rounds 20 -o json >rows.json
        [ "$(json rows 2 worker <rows.json)" = all ]
        [ "$(json rows 2 wrong <rows.json)" = 0 ]
        [ "$(json rows 2 requests <rows.json)" = 40 ]
    done
}

@test "bench: pull and pushpull, wide rows, other keys with each request" {
    psnode bench pull -k 10 -f 1000 --rounds 5 -o json >rows.json
    [ "$(json rows 0 wrong <rows.json)" = 0 ]
    psnode bench pushpull -k 500 --zipf --unsorted --depth 4 --rounds 30 \
        -n 2 --set threads=2 -o json >rows.json
    [ "$(json rows 2 wrong <rows.json)" = 0 ]
    for key in mkeys_per_s GBps p50_us p99_us; do
        [ "$(json rows 0 $key <rows.json)" != 0 ]
    done
}

# Once for each placement: the routes change while the servers start.
@test "bench: key lists are sent once, or with each request" {
    psnode bench push -k 100 --rounds 1000 -o json >once.json
    psnode bench push -k 100 --rounds 50 --no-key-cache -o json >each.json
    [ "$(json rows 1 key_lists_sent <once.json)" -lt 100 ]
    [ "$(json rows 1 key_lists_sent <each.json)" -ge 50 ]
}

@test "bench: Ctrl-C ends all processes, with a complete document" {
    start rows.json bench push -k 1000 --seconds 60s -o json
    until_true 60 sh -c "pgrep -P ${started[-1]} >/dev/null"
    until_true 60 hears "${started[-1]}" psnode
    children=$(pgrep -P "${started[-1]}")
    kill -INT "${started[-1]}"
    status=0
    wait "${started[-1]}" || status=$?
    [ "$status" = 130 ]
    [ "$(json status <rows.json)" = 130 ]
    for child in $children; do
        [ ! -e "/proc/$child" ]
    done
}

@test "bench: a closed terminal, and Ctrl-\\, leave no process" {
    mkdir empty
    for signal in HUP QUIT; do
        TMPDIR=$PWD/empty start rows.json bench push -k 1000 --seconds 60s
        until_true 20 sh -c "pgrep -P ${started[-1]} >/dev/null"
        until_true 60 hears "${started[-1]}" psnode
        # The terminal output has all three.
        # shellcheck disable=SC2046 # numbers
        kill -s $signal $(pgrep -P "${started[-1]}") "${started[-1]}"
        status=0
        wait "${started[-1]}" || status=$?
        [ "$status" = 130 ]
        [ -z "$(ls empty)" ]
    done
}

# ---- train ----

@test "train: the bits are those of one process for any number of servers" {
    make_rows >rows
    psnode train lr rows --test rows -s 1 -n 1 --parts 3 -E 2 \
        --set batch=30 --reference -o json >one.json
    psnode train lr rows --test rows -s 3 -n 4 --parts 3 -E 2 \
        --controllers 3 --set batch=30 --reference -o json >many.json
    [ "$(json same_bits <one.json)" = yes ]
    [ "$(json same_bits <many.json)" = yes ]
    [ "$(json digest <one.json)" = "$(json digest <many.json)" ]
    [ "$(json lost <many.json)" = 0 ]
    [ "$(json doubled <many.json)" = 0 ]
    [ "$(json rows 1 items <many.json)" = 30 ]
    awk -v a="$(json test_accuracy <many.json)" 'BEGIN { exit !(a > 0.9) }'
}

@test "train: workers read their rows on demand, each once per epoch" {
    make_rows >rows
    export XDG_CACHE_HOME=$PWD/cache
    psnode train lr rows -n 3 --parts 3 -E 4 --set batch=30 -o json >all.json
    psnode train lr rows -n 3 --parts 3 -E 4 --set batch=30,on-demand=1 \
        -o json >own.json
    [ "$(json digest <own.json)" = "$(json digest <all.json)" ]
    bytes=$(wc -c <rows)
    [ "$(json data_bytes_read <all.json)" -eq $((3 * bytes)) ]
    [ "$(json data_bytes_read <own.json)" -eq $((4 * bytes)) ]
    [ "$(json data_bytes_most <own.json)" -lt $((2 * bytes)) ]
    [ -n "$(ls cache/gradwire/rows)" ]
}

@test "train linear -: rows of a pipe are learnt as they arrive" {
    mkfifo pipe
    make_rows >rows
    "$BUILD/psnode" train linear - -n 2 --parts 2 -E 3 --name flow -o json \
        --set features=8,rows=100,batch=20 <pipe >flow.json 2>flow.err 3>&- &
    started+=($!)
    exec 9>pipe
    head -120 rows >&9
    until_true 60 ringctl --run flow wait 'step>=5'
    run -0 ringctl --run flow status -o json
    [ "$(json "done" <<<"$output")" = 0 ]
    tail -n +121 rows | head -150 >&9 # and 30 less than three epochs have
    exec 9>&-
    wait "${started[-1]}"
    [ "$(json lost <flow.json)" = 0 ]
    [ "$(json rows 2 samples <flow.json)" = 70 ]
    [ "$(json data_bytes_read <flow.json)" -eq "$(head -270 rows | wc -c)" ]
    timeout 100 "$BUILD/psnode" train linear - -n 3 --parts 2 -E 3 -o json \
        --set features=8,rows=100,batch=20 < <(head -270 rows) >again.json 3>&-
    [ "$(json digest <again.json)" = "$(json digest <flow.json)" ]
    timeout 100 "$BUILD/psnode" train drift - -n 2 --parts 2 -E 3 -o json \
        --set features=8,rows=100,batch=20 < <(head -270 rows) >drift.json 3>&-
    [ "$(json digest <drift.json)" = "$(json digest <flow.json)" ]
    run -64 psnode train drift rows
    run -64 psnode train lr -
    run -64 psnode train linear -
}

@test "train --until: one epoch less than the rule, in all modes; the reference's bits" {
    make_rows >rows
    psnode train lr rows -n 3 --parts 3 -E 9 --set batch=30 \
        --until 'loss<0.4' --reference -o json >until.json
    [ "$(json ended <until.json)" = until ]
    [ "$(json same_bits <until.json)" = yes ]
    [ "$(json lost <until.json)" = 0 ]
    last=$(($(json rows '#' <until.json) - 1))
    [ "$last" -lt 8 ]
    awk -v loss="$(json rows $last loss <until.json)" \
        -v before="$(json rows $((last - 1)) loss <until.json)" \
        'BEGIN { exit !(loss < 0.4 && before >= 0.4) }'
    psnode train lr rows -n 3 -E 9 --set batch=30 --mode asp \
        --until 'loss<1e9' -o json >asp.json
    [ "$(json ended <asp.json)" = until ]
    [ "$(json items <asp.json)" -lt $((30 * 3)) ]
}

@test "train: lr reaches 84.9 % on a9a, also when servers die" {
    data=${GRADWIRE_DATA:-}
    [ -f "$data/a9a.train.libsvm" ] || skip "GRADWIRE_DATA names no folder with a9a (labs/data/get.sh a9a)"
    start a9a.json train lr a9a.train.libsvm --test a9a.test.libsvm -s 3 -n 4 \
        -R 3 -m bsp --parts 4 --name adult -o json
    until_true 60 ringctl --run adult wait 'step>=500'
    run -0 ringctl --run adult kill server 1
    wait "${started[-1]}"
    psnode train lr a9a.train.libsvm --test a9a.test.libsvm -s 1 -n 2 \
        --parts 4 -o json >one.json
    awk -v a="$(json test_accuracy <a9a.json)" 'BEGIN { exit !(a >= 0.849) }'
    [ "$(json lost <a9a.json)" = 0 ]
    # At least that of the killed server: on a busy machine a slow process may
    # be declared dead, too, which must not change the weights.
    [ "$(json recoveries <a9a.json)" -ge 1 ]
    [ "$(json digest <a9a.json)" = "$(json digest <one.json)" ]
}

@test "train: every model, every mode" {
    for mode in ssp:1 asp kofn:1; do
        psnode train drift -n 2 -E 1 --set rows=500 --mode $mode -o json >d.json
        [ "$(json status <d.json)" = 0 ]
        [ "$(json doubled <d.json)" = 0 ]
        [ "$(json mode <d.json)" = $mode ]
    done
    psnode train mf -n 2 -E 1 --set ratings=2000 -o csv >mf.csv
    [[ $(head -1 mf.csv) = epoch,items,samples,loss,quality,seconds,run* ]]
    [ "$(wc -l <mf.csv)" = 2 ]
}

@test "train: linear regression on more than a million features" {
    awk 'BEGIN {
        state = 7
        for (row = 0; row < 400; row++) {
            target = 1
            line = ""
            for (j = 0; j < 6; j++) {
                state = (state * 16807) % 2147483647
                k = int(state / 64) % 40
                line = line sprintf(" %d:1", j * 300000 + k + 1)
                target += k % 2 ? j / 4 : -j / 4
            }
            print target line
        }
    }' >wide
    psnode train linear wide --test wide -s 3 -n 2 -p 2 -E 30 --set rate=0.5 \
        --reference -o json >wide.json
    [ "$(json same_bits <wide.json)" = yes ]
    [ "$(json model_keys <wide.json)" -gt 1500000 ]
    # Only the features of the rows are pushed: 240 and the bias.
    [ "$(json keys_pushed <wide.json)" -le $((241 * 240)) ]
    awk -v is="$(json test_rmse <wide.json)" 'BEGIN { exit !(is < 0.1) }'
    run -64 psnode train linear
    [[ $output = *"name a file"* ]]
}

@test "train: an agent's weights have the same bits for any way to add up" {
    psnode train cartpole -s 1 -n 1 -E 2 -o json >one.json
    psnode train cartpole -s 3 -n 3 --parts 5 -E 2 --reference -o json >c.json
    [ "$(json digest <c.json)" = "$(json digest <one.json)" ]
    [ "$(json same_bits <c.json)" = yes ]
    awk -v r="$(json test_return <c.json)" 'BEGIN { exit !(r >= 100) }'
    psnode train cartpole -n 3 -E 1 --mode asp -o csv >a3c.csv
    [[ $(head -1 a3c.csv) = *,quality,policy_loss,value_loss,entropy,seconds* ]]
    psnode train cartpole -n 3 -E 1 --mode ssp:1 -o json >ssp.json
    [ "$(json staleness_max <ssp.json)" -le 1 ]
}

@test "train: a network's weights are those of the data-parallel ring" {
    make_rows >rows
    printf '%s\n' 'network t' 'input 2x2x2' 'conv 4 3x3' tanh 'name a' \
        'conv 4 3x3' 'add a' relu flatten 'dense 2' softmax >t.net
    psnode train net t.net rows --test rows -s 3 -n 2 -p 4 -E 3 \
        --reference -o json >servers.json
    [ "$(json same_bits <servers.json)" = yes ]
    for how in "-n 4 -a ring" "-n 3 -a main_replica" "-n 1"; do
        # shellcheck disable=SC2086 # options apart by blanks
        "$BUILD/collrun" train net t.net rows --test rows $how -E 3 -o json >ring.json
        [ "$(json digest <ring.json)" = "$(json digest <servers.json)" ]
        awk -v r="$(json test_accuracy <ring.json)" 'BEGIN { exit !(r > 0.8) }'
    done
    ringctl up 2 --servers 1 --name net train net t.net rows --epochs 2
    run -0 ringctl --run net wait "done"
    printf 'network t\ninput 8\nembedding 6\ndense 2\nsoftmax\n' >e.net
    psnode train net e.net rows -p 3 -E 1 --reference -o json >sparse.json
    [ "$(json same_bits <sparse.json)" = yes ]
    run -64 "$BUILD/collrun" train net e.net rows -n 2
    [[ $output = *"embeddings are not supported"* ]]
    run -64 psnode train net rows
    [[ $output = *"name a network and a file"* ]]
}

@test "train: a recommender learns ratings and clicks of a file" {
    awk 'BEGIN {
        state = 7
        print "user,item,click"
        for (row = 0; row < 3000; row++) {
            state = (state * 16807) % 2147483647
            user = int(state / 64) % 40
            item = int(state / 4096) % 25
            print user ",", item + 100 "," (user % 3 == item % 3)
        }
    }' >clicks
    psnode train ctr clicks -s 2 -n 2 -p 4 -E 12 --set rank=4,batch=100 \
        --reference -o json >ctr.json
    [ "$(json same_bits <ctr.json)" = yes ]
    awk -v is="$(json test_accuracy <ctr.json)" 'BEGIN { exit !(is > 0.9) }'
    psnode train mf clicks -E 12 --set rank=4,batch=100 -o json >mf.json
    [ "$(json model_keys <mf.json)" = 65 ]
    awk -v is="$(json test_rmse <mf.json)" 'BEGIN { exit !(is < 0.35) }'
    run -64 psnode train mf clicks clicks
    [[ $output = *"mf takes one file"* ]]
}

@test "actors: the lag is the formula's, and the same on each run" {
    psnode actors cartpole -n 8 -q 12 -b 2 --updates 1000 -o json >one.json
    psnode actors cartpole -n 8 -q 12 -b 2 --updates 1000 -o json >two.json
    diff <(undated one.json) <(undated two.json)
    awk -v is="$(json lag <one.json)" 'BEGIN { exit !(is > 9.5 && is < 10.1) }'
    psnode actors cartpole --max-lag 4 --updates 400 -o json >bound.json
    [ "$(json lag_worst <bound.json)" -le 4 ]
    [ "$(json total_dropped <bound.json)" -gt 0 ]
    run -64 psnode actors mf
    run -64 psnode actors cartpole --actors 0
    run -64 psnode actors cartpole --jitter 2
    run -1 psnode actors cartpole --set rate=1e6 --no-correction
    [[ $output = *"training diverges in update "*"NaN or infinite; try a lower rate"* ]]
}

# Little's law holds at any speed, and so do the counts.
@test "actors: processes send trajectories, and the learner continues without a dead one" {
    psnode actors cartpole --processes -n 4 -q 4 --updates 400 -o json >four.json
    awk -v is="$(json lag <four.json)" -v formula="$(json lag_formula <four.json)" \
        -v virtual="$(json lag_virtual <four.json)" 'BEGIN {
            exit !(is > 0.9 * formula && is < 1.1 * formula && virtual > 7 && virtual <= 8)
        }'
    [ "$(json policies_sent <four.json)" -eq $(($(json trajectories_received <four.json) + 4)) ]
    [ "$(json bytes_per_policy <four.json)" = $((8 + 4 * 7 * 33)) ]
    [ "$(json bytes_per_trajectory <four.json)" = $((8 * (7 + 6 * 20))) ]
    psnode actors cartpole --processes -n 3 -q 2 --wire tcp --updates 300 --every 300 \
        --fail 1@50:kill -o json >two.json
    [ "$(json actors_lost <two.json)" = 1 ]
    [ "$(json rows 0 updates <two.json)" = 300 ]
    run ! json lag_virtual <two.json
    psnode actors cartpole -n 1 -q 0 --step 10us --update 20us --updates 100 -o json >one.json
    psnode actors cartpole -n 1 -q 0 --step 10us --update 20us --updates 100 --processes \
        -o json >process.json
    [ "$(json digest <one.json)" = "$(json digest <process.json)" ]
    run -1 psnode actors cartpole --processes -n 1 --fail 0@5:kill
    [[ $output = *"all 1 actors have ended"* ]]
    run -64 psnode actors cartpole --fail 0@5:kill
    [[ $output = *"need --processes"* ]]
    run -64 psnode actors cartpole --processes -n 2 --fail 2@5:kill
    [[ $output = *"the last actor is 1"* ]]
    run -64 psnode actors cartpole --processes -n 65
}

@test "actors: a plug-in judges trajectories" {
    ${CC:-cc} -Wall -Wextra -Werror -shared -fPIC -I "$BATS_TEST_DIRNAME/../../lib/include" \
        -o clipped.so "$BATS_TEST_DIRNAME/../../labs/plugins/clipped.c"
    psnode actors cartpole --updates 1000 --targets clipped.so -o json >c.json
    [ "$(json correction <c.json)" = clipped ]
    awk -v r="$(json last_return <c.json)" 'BEGIN { exit !(r > 50) }'
    run -65 psnode actors cartpole --targets "$BATS_TEST_DIRNAME/../../labs/plugins/clipped.c"
    [[ $output = *"is source; compile it first"* ]]
}

# Zachary's karate club: the label is the club that a member joined after the
# split.
@test "train: deepwalk separates the factions of a graph, with the same bits on any servers" {
    data=$BATS_TEST_DIRNAME/../../labs/data
    psnode train deepwalk "$data/karate.edges" --labels "$data/karate.labels" -n 1 --parts 2 \
        --reference -o json >one.json
    [ "$(json same_bits <one.json)" = yes ]
    [ "$(json labelled <one.json)" = 34 ]
    [ "$(json seed <one.json)" = 1 ]
    awk -v a="$(json class_accuracy <one.json)" 'BEGIN { exit !(a > 0.9) }'
    [[ $(json nearest_34 <one.json) = *,* ]]
    psnode train deepwalk "$data/karate.edges" -n 3 -s 2 --parts 2 -o json >three.json
    [ "$(json digest <three.json)" = "$(json digest <one.json)" ]
    echo "1 2 3" >wrong
    run -65 psnode train deepwalk wrong
    [[ $output = *"wrong:1: a line must have 2 words, not 3"* ]]
    run -64 psnode train mf --labels "$data/karate.labels"
}

@test "train: word2vec prints neighbours, and the speed of Hogwild" {
    awk 'BEGIN { for (i = 0; i < 400; i++)
        print "the king and the queen of the city went to war for water" }' \
        >text
    run -0 psnode train word2vec text -E 1 --baseline --set min-count=1
    [[ $output = *"# nearest_king: "* ]]
    [[ $output = *"# words_per_s: "* ]]
    [[ $output = *"# hogwild_words_per_s: "* ]]
}

@test "train: an error before the first row prints no table" {
    run -0 --separate-stderr psnode train mf -E 1 --set ratings=500
    [[ $output = *samples* ]]
    run --separate-stderr psnode train lr /dev/zero
    [ "$status" -ne 0 ]
    [ -n "$stderr" ]
    [[ $output != *samples* ]]
}

@test "train: with ask-routes each access asks a controller first" {
    psnode train drift --epochs 1 --servers 2 --workers 1 -o json >kept.json
    psnode train drift --epochs 1 --servers 2 --workers 1 \
        --set ask-routes=1 -o json >asked.json
    [ "$(json routes_requested <kept.json)" = null ] ||
        ! grep -q routes_requested kept.json
    [ "$(json routes_requested <asked.json)" -gt 100 ]
    [ "$(json digest <asked.json)" = "$(json digest <kept.json)" ]
}

@test "train: a server that is killed costs nothing" {
    # 40 epochs are 4 seconds: the commands come in the middle of them, also on
    # a busy machine.
    psnode train drift -s 1 -n 2 -p 2 -E 40 --set rows=1000 -o json >whole.json
    start broken.json train drift -s 3 -n 2 -p 2 -E 40 --set rows=1000 \
        --compute 10ms --name broken -o json
    until_true 60 ringctl --run broken wait 'step>=5'
    run -0 ringctl --run broken kill server 0
    run -0 ringctl --run broken kill 1
    run -0 ringctl --run broken add
    wait "${started[-1]}"
    [ "$(json lost <broken.json)" = 0 ]
    [ "$(json doubled <broken.json)" = 0 ]
    [ "$(json digest <broken.json)" = "$(json digest <whole.json)" ]
}

@test "train: with +drop a killed worker's share is left out, and nothing is lost" {
    start drop.json train drift -s 1 -n 3 -p 3 -E 20 --set rows=1000 \
        --mode bsp+drop --compute 10ms --name drop -o json
    until_true 60 ringctl --run drop wait 'step>=5'
    run -0 ringctl --run drop kill worker 1
    wait "${started[-1]}"
    [ "$(json parts_dropped <drop.json)" = 1 ]
    [ "$(json redone <drop.json)" = 0 ]
    [ "$(json lost <drop.json)" = 0 ]
    [ "$(json doubled <drop.json)" = 0 ]
}

items_of() {
    ringctl --run "$1" clocks -o csv | awk -F, -v worker="$2" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
        $at["worker"] == worker { n = $at["items"] }
        END { print n + 0 }'
}

has_worked() { [ "$(items_of "$1" "$2")" -gt 0 ]; }

@test "train: a worker that joins has work; with fewer parts there is a warning" {
    ringctl up 2 --servers 1 --name follow --mode bsp train drift --epochs 100000
    run -0 ringctl --run follow add
    [[ $output != *warning* ]]
    until_true 60 has_worked follow 2
    run -0 ringctl --run follow expect 'lost==0 && doubled==0'
    run -0 ringctl --run follow status -o json
    [[ $output = *'"parts":3'* ]]
    ringctl --run follow down
    ringctl up 2 --servers 2 --name given --mode bsp --parts 2 train drift \
        --epochs 100000
    run -0 ringctl --run given add
    [[ $output = *'warning: 1 of 3 workers get no work'* ]]
    ringctl --run given wait 'workers==3'
    # It was idle, and no worker waits for it when ssp begins.
    run -0 ringctl --run given mode ssp:2
    until_true 60 has_worked given 2
    # A dead server has no slots.
    run -0 ringctl --run given kill server 1
    run -0 ringctl --run given ps -o csv
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["server"] == 1 { found = 1
            held += $at["primaries"] + $at["secondaries"] + $at["rows"] }
        END { exit !(found && held == 0) }' <<<"$output"
    ringctl --run given down
}

@test "train: Ctrl-C ends the run, with a complete document" {
    start d.json train drift -n 2 --compute 50ms --name short -o json
    until_true 60 ringctl --run short wait 'step>=2'
    kill -INT "${started[-1]}"
    status=0
    wait "${started[-1]}" || status=$?
    [ "$status" = 130 ]
    [ "$(json status <d.json)" = 130 ]
    [ "$(ringctl --run short status -o json | json state)" = ended ]
}

@test "train: a terminal that is closed ends the run, and so does Ctrl-\\" {
    for signal in HUP QUIT; do
        start d.json train drift -n 2 --compute 50ms --name "x${signal,,}" -o json
        until_true 20 ringctl --run "x${signal,,}" wait 'step>=2'
        kill -s $signal "${started[-1]}"
        status=0
        wait "${started[-1]}" || status=$?
        [ "$status" = 130 ]
        [ "$(json status <d.json)" = 130 ]
        [ "$(ringctl --run "x${signal,,}" status -o json | json state)" = ended ]
    done
}

@test "train --compare modes: all modes in one table" {
    psnode train drift -n 3 --compare modes --compute 5ms --times 3 \
        --seconds 200ms -o json >c.json
    [[ $(json theory_kofn <c.json) =~ ^2(\.0)?$ ]]
    for mode in bsp ssp asp kofn; do
        rate=$(json rate_$mode <c.json)
        awk -v r="$rate" 'BEGIN { exit !(r > 0) }'
    done
    [ -n "$(json rows 0 loss_asp <c.json)" ]
}

@test "train --sweep ssp: staleness is never above S" {
    psnode train drift -n 3 -E 1 --set rows=600 --sweep ssp --compute 1ms \
        -o json >s.json
    for row in 0 1 2 3 4 5; do
        [ "$(json rows $row staleness <s.json)" -le \
            "$(json rows $row bound <s.json)" ]
    done
}

# ---- stragglers ----

@test "sim: the same result twice, in all modes, and with each --by" {
    psnode sim -n 4 --mode bsp,ssp:2,asp,kofn:3 --slow 0:3 --rounds 200 \
        -o json >one.json
    psnode sim -n 4 --mode bsp,ssp:2,asp,kofn:3 --slow 0:3 --rounds 200 \
        -o json >two.json
    diff <(undated one.json) <(undated two.json)
    [ "$(json rows 1 ahead_max <one.json)" = 2 ]
    [ "$(json rows 0 dropped <one.json)" = 0 ]
    [ "$(json rows 3 dropped <one.json)" -gt 100 ]
    psnode sim -n 3 --by worker -o csv >w.csv
    [ "$(wc -l <w.csv)" = 4 ]
    psnode sim -n 3 --mode asp --by staleness -o csv >s.csv
    [ "$(wc -l <s.csv)" -gt 5 ]
    psnode sim drift -n 3 --rounds 100 --by time -o csv >t.csv
    [ "$(wc -l <t.csv)" = 102 ]
    [ ! -e runs ]
}

@test "sim: invalid options are refused before the first row" {
    run -64 psnode sim -n 4 --mode bsp,kofn:5
    [[ $output = 'psnode: kofn:5 needs more parts than the 4 of a batch' ]]
    run -64 psnode sim --mode bsp,
    [[ $output = *'"" is not a mode'* ]]
    run -64 psnode sim --compute gauss:1s
    [[ $output = *'use fixed:TIME'* ]]
    run -64 psnode sim --slow 9:2
    [[ $output = *'WORKER:FACTOR'* ]]
    run -64 psnode sim --target 1
    [[ $output = *'need a model'* ]]
    run -64 psnode sim word2vec
    run -64 psnode sim -n 577
    run -65 psnode sim --straggler nothing.so
    [[ $output = *'nothing.so: no such file'* ]]
}

@test "a plug-in policy chooses K, in sim and on servers" {
    ${CC:-cc} -shared -fPIC -I "$BATS_TEST_DIRNAME/../../lib/include" \
        -o drop.so "$BATS_TEST_DIRNAME/../../labs/plugins/drop_slowest.c"
    psnode sim -n 4 --compute fixed:1s --slow 3:8 --straggler drop.so \
        --rounds 100 -o json >sim.json
    [ "$(json rows 0 last_mode <sim.json)" = kofn:3 ]
    [ "$(json straggler <sim.json)" = drop-slowest ]
    psnode train drift -n 4 -s 2 -E 1 --set rows=5000 --compute 5ms \
        --slow 3=200ms --straggler drop.so -o json >train.json
    # On a busy machine another one may be slow, too.
    [[ $(json last_mode <train.json) = kofn:[123] ]]
    [ "$(json lost <train.json)" = 0 ]
    [ "$(json doubled <train.json)" = 0 ]
    [ "$(json dropped <train.json)" -ge 1 ]
    run -65 psnode train drift --straggler nothing.so
    [[ $output = *'nothing.so: no such file'* ]]
}

# ---- snapshots ----

@test "a training continues from its snapshot, on fewer servers" {
    # 20 epochs are 4 seconds: the snapshot comes in the middle of them.
    psnode train drift -s 1 -n 2 --parts 2 -E 20 --set rows=1000 -o json \
        >whole.json
    start half.json train drift -s 3 -n 2 --parts 2 -E 20 --set rows=1000 \
        --compute 20ms --name half -o json
    until_true 60 ringctl --run half wait 'step>=10'
    run -0 psnode snapshot half saved
    run -0 ringctl --run half down
    wait "${started[-1]}" || true
    psnode restore saved drift -s 2 -n 3 --parts 2 -E 20 --set rows=1000 \
        -o json >rest.json
    [ "$(json digest <rest.json)" = "$(json digest <whole.json)" ]
}

@test "a snapshot that cannot be written is reported, and ends the training" {
    : >taken
    run -70 psnode train drift -E 1 --set rows=200 --snapshot taken --name bad
    [[ $output = *"psnode: "*"snapshot "*"/taken: "* ]]
    start long.json train drift -E 200 --set rows=1000 --compute 20ms --name going
    until_true 60 ringctl --run going wait 'step>=1'
    run -70 ringctl --run going snapshot taken
    run -0 ringctl --run going down
    wait "${started[-1]}" || true
}

@test "bad snapshots: truncated, of a different table, missing" {
    psnode train drift -n 2 -E 1 --set rows=200 --snapshot saved >/dev/null
    run -65 psnode restore nowhere drift
    [[ $output = *"the directory does not exist"* ]]
    run ! psnode restore saved mf -E 1
    echo "$output"
    [[ $output = *psnode:* ]]
    slot=$(find saved -name 'slot-*' -size +0 | sort | head -1)
    truncate -s -1 "$slot"
    run -65 psnode restore saved drift -E 1 --set rows=200
    [[ $output = *"$(basename "$slot")"* || $output = *"cut short"* ]]
}

# ---- bad data ----

@test "a data file that ends in mid-line is refused, with its line" {
    make_rows | head -c -3 >rows
    printf '+1 1:0.5 2:' >>rows
    run -65 psnode train lr rows
    [[ $output = *rows:* ]]
    run -65 psnode train lr nothing-here
    [[ $output = *"no such file"* ]]
}

# ---- by hand ----

@test "a cluster by hand: it trains, a server leaves, two have the same number" {
    find_port
    at=tcp://127.0.0.1:$port
    start c.out controller --index 0 --peers "$at" --dir c0 --servers 2
    controller=${started[-1]}
    start s0.out server --join "$at" --node 40
    first=${started[-1]}
    start s1.out server --join "$at" --node 41
    second=${started[-1]}
    until_true 60 grep -q 'server is ready' s0.out
    until_true 60 grep -q 'server is ready' s1.out
    run ! psnode server --join "$at" --node 41
    [[ $output = *41* ]]
    psnode worker --join "$at" --workers 1 train drift -E 1 --set rows=500 \
        -o json >w.json
    [ "$(json status <w.json)" = 0 ]
    run ! psnode worker --join "$at" --workers 1 train drift -E 1 \
        --set rows=500,features=5
    kill "$first"
    wait "$first"
    kill -9 "$second"
    kill "$controller"
    wait "$controller"
}

@test "a controller with a full disk reports it, and ends" {
    unshare -rm mount -t tmpfs none "$PWD" 2>/dev/null || skip "no user namespaces here"
    find_port
    mkdir small
    run -70 --separate-stderr unshare -rm sh -c 'mount -t tmpfs -o size=64k \
        none small && exec timeout 30 "$@"' full "$BUILD/psnode" controller \
        --index 0 --peers "tcp://127.0.0.1:$port" --dir small/c0
    [[ ${stderr,,} = *"small/c0"*"no space left"* ]]
}

@test "three controllers with a key: one dies, and the last server reports it" {
    psnode key lab.key
    run -64 psnode key lab.key
    [[ $output = *'already exists'* ]]
    peers=
    for i in 0 1 2; do
        find_port
        peers+=${peers:+,}tcp://127.0.0.1:$port
    done
    for i in 0 1 2; do
        start c$i.out controller -i $i -p "$peers" -d c$i -s 2 --key lab.key
    done
    for i in 0 1; do
        start s$i.out server -j "$peers" --key lab.key
    done
    psnode worker -j "$peers" --key lab.key --workers 1 train drift -E 1 \
        --set rows=500 >w.txt
    kill -9 "${started[0]}"
    run -0 psnode worker -j "$peers" --key lab.key -n 1 train drift -E 1 \
        --set rows=500
    run -124 psnode worker -j "$peers" --timeout 1s train drift -E 1
    kill "${started[3]}"
    wait "${started[3]}"
    [ ! -s s0.out.err ]
    kill "${started[4]}"
    wait "${started[4]}"
    [[ $(<s1.out.err) = *'it is the last server'* ]]
    kill "${started[1]}" "${started[2]}"
    wait "${started[1]}" "${started[2]}"
}
