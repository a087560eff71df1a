#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# ringctl as a person meets it: help, typos, abbreviated words, scripts; and
# small runs of its own, which are killed, waited for and ended.

load ../until.bash

setup_file() {
    bats_require_minimum_version 1.5.0
    BUILD=$(realpath "${B:-build}")
    ROOT=$PWD
    export BUILD ROOT MAN=$PWD/man/ringctl.1
    export XDG_STATE_HOME=$BATS_FILE_TMPDIR/state
    unset GRADWIRE_RUN GRADWIRE_RUNS
    # shellcheck disable=SC2046
    ${CC:-cc} -o "$BATS_FILE_TMPDIR/jsoncheck" tests/cli/jsoncheck.c \
        $(pkg-config --cflags --libs jansson)
    examples=/usr/share/doc/liblinear-tools/examples
    if [ -f $examples/heart_scale.gz ]; then
        gzip -dc $examples/heart_scale.gz >"$BATS_FILE_TMPDIR/heart_scale"
    elif [ -f $examples/heart_scale ]; then
        cp $examples/heart_scale "$BATS_FILE_TMPDIR/heart_scale"
    fi
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
}

# Ends any run that a test has left.
teardown() {
    [ ! -d runs ] || ringctl down --all >/dev/null
    [ ! -e tmux ] || tmux -S tmux kill-server || true
}

ringctl() {
    "$BUILD/ringctl" "$@" </dev/null 3>&-
}

# The value at a path of a JSON document: json KEY... < document
json() {
    "$BATS_FILE_TMPDIR/jsoncheck" "$@"
}

# ---- without a run ----

@test "help: examples first, every verb" {
    run -0 --separate-stderr ringctl --help
    [[ ${lines[1]} = Examples:* ]]
    for verb in up down kill link wait chaos source; do
        [[ $output = *$'\n'"  $verb "* ]]
    done
    [ -z "$stderr" ]
    run -0 ringctl -h
    [ "${#lines[@]}" -le 20 ]
    [[ $output = *$'\n  Nodes      kill stop '* ]]
    run -0 ringctl help kill
    [[ $output = *Examples:*"ringctl kill leader"* ]]
}

@test "up and sim refuse invalid numbers" {
    run -64 ringctl up --workers 0 --servers 2
    [[ $output = *"--workers must be at least 1"* ]]
    run -64 ringctl up 2 --servers 2 --replicas 3
    [[ $output = *"--replicas 3: only 2 servers; use at most that many"* ]]
    run -64 ringctl sim ring -n 0
    [[ $output = *"must be at least 1"* ]]
}

@test "a typo gets a suggestion, the valid words, and status 64" {
    run -64 ringctl klil 2
    [[ $output = *'unknown command "klil"; did you mean "kill"? (commands: up, down'* ]]
    run -64 ringctl kill 2 --rnu x
    [[ $output = *'did you mean "--run"?'* ]]
    run -64 ringctl up 4 --wire smh
    [[ $output = *'did you mean "shm"?'* ]]
    run -64 ringctl up 4 train rl file
    [[ $output = *'lr'*softmax* ]]
}

@test "control bytes in arguments never reach the terminal" {
    run -64 "$BUILD/ringctl" < <(printf '\033[31mfoo')
    [[ $output = *'unknown command "\x1b[31mfoo"'* ]]
    for words in $'\e[2J' $'kill \e[2J' $'wait \x9b31m' $'help \e]0;x\a' \
        $'up 2 --name \e[2J' $'up 2 train lr \e[2J' $'kill 2 --r\eu x' $'-o \e[m ls'; do
        # shellcheck disable=SC2086
        run --separate-stderr ringctl $words
        [ "$status" -ne 0 ]
        [ -n "$stderr" ]
        run -1 env LC_ALL=C grep -q '[^ -~]' <<<"$stderr"
    done
    run ringctl -v -c $'kill \e[2J'
    [[ $output = *'+ kill \x1b[2J'* ]]
}

@test "verbs may be abbreviated when unambiguous" {
    run -64 ringctl pa 1
    [[ $output = *"ambiguous command pa: pace, pause"* ]]
    run -64 ringctl re 1
    [[ $output = *"ambiguous command re: record, replay, rerun, restart, resume"* ]]
    run -69 ringctl sta
    [[ $output = *"no run found in runs; start one with: ringctl up 4"* ]]
}

@test "sleep does not exist, and the message names wait" {
    run -64 ringctl sleep 3
    [[ $output = *"unknown command sleep: use wait COND"* ]]
    run -64 ringctl help sleep
    [[ $output = *"use wait COND"* ]]
}

@test "messages about bad operands name valid ones" {
    run -64 ringctl kill
    [[ $output = *"missing operand"* ]]
    run -64 ringctl kill x
    [[ $output = *'"x" is not a node; use 2, s0 for a server, c1'* ]]
    run -64 ringctl up 0
    run -64 ringctl up 4 --controllers 2
    [[ $output = *"--controllers must be 1, 3 or 5"* ]]
    run -64 ringctl up 4 dance
    [[ $output = *"must be a number of nodes, train, ops or exec"* ]]
    run -64 ringctl link 0 1 dealy 5ms
    [[ $output = *'did you mean "delay"?'* ]]
    run -64 ringctl link 1 1 down
    [[ $output = *"no link to itself"* ]]
    run -64 ringctl cut '0,1|1,2'
    [[ $output = *"1 is on both sides"* ]]
    run -64 ringctl add many
    run -64 ringctl pace slowly
    [[ $output = *"a time or off"* ]]
    run -64 ringctl chaos --rate often
    [[ $output = *"--rate must be faults per second"* ]]
}

@test "a mistake in a condition is reported with its column, with or without a run" {
    run -64 ringctl wait 'alive==4 && stpe>3'
    [[ $output = *'column 13: unknown name "stpe"; did you mean "step"?'* ]]
    run -64 ringctl expect 'alive=4'
    [[ $output = *'column 6: expected =='* ]]
    run -64 ringctl wait alive == 4 '&&'
    [[ $output = *"the condition ends here"* ]]
}

@test "errors are JSON with -o json at any position" {
    for words in 'klil 2' 'kill' 'kill 2' 'wait alive=4' 'status' 'pa 1'; do
        # shellcheck disable=SC2086
        run --separate-stderr ringctl $words -o json
        [ "$status" -ne 0 ]
        [ -n "$stderr" ]
        [ "$(json status <<<"$output")" = "$status" ]
    done
}

@test "a script stops at the first failure, and prints its place" {
    printf '# begin\nls -o csv\nls -o csv; kill 2\nls -o csv\n' >two.ring
    run -69 --separate-stderr ringctl two.ring
    [[ $stderr = "ringctl: two.ring:3: no run found"* ]]
    [ "$(grep -c '^run' <<<"$output")" -eq 2 ]
    run -69 --separate-stderr ringctl -k two.ring
    [ "$(grep -c '^run' <<<"$output")" -eq 3 ]
    run -69 ringctl -c 'ls; kill 2; ls'
    [[ $output = *"ringctl: kill 2: no run found"* ]]
    run -69 "$BUILD/ringctl" <two.ring
    [[ $output = *"standard input:3: no run found"* ]]
    printf 'source two.ring\n' >one.ring
    run -69 ringctl one.ring
    [ "$(grep -c 'two.ring:3:' <<<"$output")" -eq 1 ]
    [[ $output != *one.ring* ]]
}

@test "an invalid or missing script: status 65" {
    printf 'ls\nkill "2\n' >open.ring
    run -65 ringctl open.ring
    [[ $output = *"open.ring:2: unterminated quote"* ]]
    run -65 ringctl ./missing.ring
    [[ $output = *"missing.ring: No such file"* ]]
    mkdir folder.ring
    run -65 ringctl ./folder.ring
    [[ $output = *"folder.ring: Is a directory"* ]]
    printf 'source deep.ring\n' >deep.ring
    run -65 ringctl deep.ring
    [[ $output = *"at most 16 levels"* ]]
    head -c 64 /dev/zero >binary.ring
    run -65 ringctl binary.ring
    [[ $output = *"is not a script"* ]]
}

@test "quit ends a script with status 0; options hold for one line" {
    run -0 --separate-stderr ringctl -c 'ls -o json; ls -o csv; quit; kill 2'
    [ "$(head -1 <<<"$output" | cut -c1-10)" = '{"schema":' ]
    [[ ${lines[-1]} = "run,"* ]]
    run -0 ringctl -o csv -c 'ls; ls'
    [[ ${lines[0]} = "run,state,"* ]]
}

@test "every verb and option of the table is in the man page" {
    ringctl completion words >listed
    [ "$(wc -l <listed)" -ge 50 ]
    missing=
    while read -r verb option; do
        case $verb,$option in
        --*) grep -Eq "^\.It .*Fl .-${verb#--}( |\$)" "$MAN" ;;
        *,) grep -q "^\.Ss $verb\$" "$MAN" ;;
        *) sed -n "/^\.Ss $verb\$/,/^\.S[sh] /p" "$MAN" |
            grep -Eq "^\.It .*Fl .-${option#--}( |\$)" ;;
        esac || missing+=" $verb $option;"
    done <listed
    echo "missing:$missing"
    [ -z "$missing" ]
}

@test "every name of a condition is in the man page" {
    run -64 ringctl wait nothing==1
    names=${output##*(names: }
    names=$(tr -d ',)' <<<"$names")
    [ "$(wc -w <<<"$names")" -gt 10 ]
    for name in $names; do
        sed -n '/^\.Sh CONDITIONS/,/^\.Sh OUTPUT/p' "$MAN" |
            grep -Eq "^\.It Cm .*\<$name\>" || { echo "no $name"; return 1; }
    done
}

@test "completion scripts parse, and know verbs and options" {
    ringctl completion bash >c.bash
    bash -n c.bash
    # shellcheck disable=SC2016
    run -0 bash -c 'source ./c.bash; COMP_WORDS=(ringctl kil); COMP_CWORD=1
        _ringctl; echo "${COMPREPLY[@]}"'
    [ "$output" = kill ]
    # shellcheck disable=SC2016
    run -0 bash -c 'source ./c.bash; COMP_WORDS=(ringctl up 4 --wire t)
        COMP_CWORD=4; _ringctl; echo "${COMPREPLY[@]}"'
    [ "$output" = tcp ]
    if command -v zsh >/dev/null; then
        ringctl completion zsh >c.zsh
        zsh -n c.zsh
    fi
    if command -v fish >/dev/null; then
        ringctl completion fish >c.fish
        fish -n c.fish
    fi
}

# ---- with runs ----

@test "up alone leaves a run; other terminals control it; down ends it" {
    run -0 --separate-stderr ringctl up 3 --name hare
    [ "$output" = "run hare is up: ring 0 1 2, epoch 1" ]
    [[ $stderr = *"ringctl status, ringtop, ringctl down"* ]]
    run -0 ringctl status
    [[ $output = *"# ring: 0 1 2"* ]]
    pids=$(ringctl status -o csv -v | awk -F, 'NR > 1 { print $10 }')
    run -0 ringctl ring
    [[ $output = *"# ring: 0 > 1 > 2 > 0"* ]]
    [[ $(ringctl ls -o csv) = *hare,idle,3,1,* ]]
    run -0 ringctl down
    [[ $(ringctl ls -o csv) = *hare,ended,* ]]
    # shellcheck disable=SC2086 # numbers
    until_true 60 is_over $pids
    run -69 ringctl kill 1
    [[ $output = *"run hare has ended"* ]]
}

@test "status is the supervisor's own: it asks no node and no controller" {
    ringctl up 3 --controllers 3 >said 2>&1
    pids=$(ringctl status -o csv -v |
        awk -F, 'NR > 1 && $2 != "supervisor" { print $10 }')
    # shellcheck disable=SC2086 # numbers
    kill -STOP $pids
    run -0 timeout 10 "$BUILD/ringctl" status
    # shellcheck disable=SC2086 # numbers
    kill -CONT $pids
    [[ $output = *"# state: idle, epoch 1"* ]]
    ringctl down
}

@test "a copy of another user's run folder: whose run that is" {
    [ "$(id -u)" -eq 0 ] || skip "needs root, to be another user"
    ringctl up 2 --name hare
    theirs=$(mktemp -d /tmp/gradwire-copied-XXXXXX)
    mkdir "$theirs/hare"
    cp runs/hare/endpoint "$theirs/hare/"
    cp "$BUILD/ringctl" "$theirs/"
    chown -R 65534 "$theirs"
    run -69 setpriv --reuid 65534 --clear-groups env GRADWIRE_RUNS="$theirs" \
        "$theirs/ringctl" --run hare ring </dev/null 3>&-
    rm -r "$theirs"
    [[ $output = *"run hare belongs to another user (0); only its owner may attach to it"* ]]
}

@test "errors name the state" {
    ringctl up 2 >/dev/null 2>&1
    run -64 ringctl kill 8
    [[ $output = *"node 8 does not exist"* ]]
    ringctl pause 1
    run -64 ringctl pause 1
    [[ $output = *"node 1 is already paused"* ]]
    run -64 ringctl resume 0
    [[ $output = *"node 0 is not paused"* ]]
    ringctl wait alive==1
    run -64 ringctl kill 0
    [[ $output = *"cannot kill 0: it is the last member"* ]]
    run -64 ringctl up 2 --run "$(ringctl status -o json | json run)"
    run -69 ringctl status --run nobody
    [[ $output = *"unknown run nobody in runs"* ]]
}

@test "a run whose supervisor was killed has died" {
    ringctl up 2 ops --name gone --pace 5ms
    kill -KILL "$(ringctl --run gone status -o json | json pid)"
    died() { ringctl ls -o csv | grep -q '^gone,died,'; }
    until_true 60 died
    run -0 ringctl --run gone status
    [[ $output = *"# state: died, "*"# error: the supervisor ended without a summary"* ]]
    [ "$(ringctl --run gone status -o json | json state)" = died ]
}

@test "a run loses a node during an op, and gets another one" {
    cat >kill.ring <<'END'
up 4 ops --bytes 4K --pace 1ms
wait op>=5
kill 2
wait epoch>=2 && alive==3
add
wait alive==4; wait op>=30
expect lost==0 && doubled==0
status -o json
END
    run -0 --separate-stderr ringctl --timeout 60s kill.ring
    [[ $stderr = *"has been ended (up --keep keeps it)"* ]]
    [ "$(json alive <<<"${lines[-1]}")" = 4 ]
    [ "$(json status <<<"${lines[-1]}")" = 0 ]
    [ "$(json lost <<<"${lines[-1]}")" = 0 ]
    [[ $(ringctl ls -o csv) != *ops* || $(ringctl ls -o csv) = *ended* ]]
}

# A ring over two racks crosses between them twice: also after two deaths and
# returns, which once put node 1 after node 3.
@test "order: a returning node gets its rank again; racks, a list, add --rank" {
    cat >two.topo <<'END'
topology two
nic    rate=1G latency=5us
uplink rate=500M latency=10us
rack a: a[0-1]
rack b: b[0-3]
order a0 a1 b0 b1 b2 b3
END
    cat >order.ring <<'END'
up 4 ops --bytes 4K --topo two.topo
kill 1; kill 2; wait alive==2
restart 2; wait alive==3
restart 1; wait alive==4
order
order 0,2,1,3
order racks
add --rank 1
wait alive==5; wait op>=30
ring
order numbers
expect lost==0 && doubled==0
END
    run -0 --separate-stderr ringctl --timeout 60s order.ring
    [[ $output = *"by numbers: epoch 5, ring 0 1 2 3, with 2 rack crossings"* ]]
    [[ $output = *"by list: epoch 6, ring 0 2 1 3, with 4 rack crossings"* ]]
    [[ $output = *"by racks: epoch 7, ring 0 1 2 3, with 2 rack crossings"* ]]
    [[ $output = *"# ring: 0 > 4 > 1 > 2 > 3 > 0"*"# rack_crossings: 4"* ]]
    [[ $output = *"by numbers: epoch 9, ring 0 1 2 3 4, with 2 rack crossings"* ]]
    run -64 ringctl -c 'up 2; order racks'
    [[ $output = *"the run has no racks; give it a topology first (topo FILE)"* ]]
    run -64 ringctl -c 'up 2; order 1,1'
    [[ $output = *"node 1 is listed twice"* ]]
}

# The holdings of the others when a node hung are reported once; into `counts`. On
# a busy machine another node may be declared dead, too: then the attempt does
# not count.
cut_short() {
    run -0 --separate-stderr ringctl --timeout 60s -c 'up 4 ops --bytes 64K \
        --pace 20ms; wait op>=3; pause 2; wait epoch>=2 && op>=6; status -o json; \
        status'
    document=$(grep '^{' <<<"$output")
    counts=(0 0 0)
    [ "$(json recoveries '#' <<<"$document")" = 1 ] || return 0
    counts=()
    for name in chunks_kept chunks_redone chunks_fresh; do
        counts+=("$(json recoveries 0 $name <<<"$document")")
        [ "$(json $name <<<"$document")" = "${counts[-1]}" ]
    done
    [ $((counts[0] + counts[1] + counts[2])) -eq 4 ]
    [[ $output = *"${counts[0]} chunks kept, ${counts[1]} redone, ${counts[2]} fresh"* ]]
}

# The moment of the pause within an op is random: rarely before any data has
# moved.
@test "the chunks of an op that was cut short add up" {
    for _ in 1 2 3 4 5; do
        cut_short
        [ "${counts[0]}" -eq 0 ] || break
    done
    [ "${counts[0]}" -gt 0 ]
}

@test "training continues through a death and a join, and nothing is lost" {
    data=$BATS_FILE_TMPDIR/heart_scale
    [ -e "$data" ] || skip "the data set heart_scale is not installed"
    run -0 --separate-stderr ringctl --timeout 60s -c "up 4 train lr $data \
        --epochs 200 --batch 4; wait step>=20; kill 2; wait epoch>=2; add; \
        wait alive==4; wait done; expect lost==0 && doubled==0; status -o json"
    [ "$(json "done" <<<"${lines[-1]}")" = 1 ]
    [ "$(json samples_lost <<<"${lines[-1]}")" = 0 ]
    [ "$(json samples_doubled <<<"${lines[-1]}")" = 0 ]
}

@test "--set on-demand=1: members of a ring read their own rows, each once an epoch" {
    export XDG_CACHE_HOME=$PWD/cache
    awk 'BEGIN { for (i = 0; i < 64; i++) print i % 2, "1:" i % 2 }' >rows
    run -0 --separate-stderr ringctl --timeout 60s -c "up 3 train lr rows \
        --batch 8 -E 4 --set on-demand=1; wait done; expect lost==0; status -o json"
    read=$(grep -o '"data_bytes_read":[0-9]*' <<<"${lines[-1]}" |
        awk -F : '{ sum += $2 } END { print sum }')
    [ "$read" -eq $((4 * $(wc -c <rows))) ]
    run -64 ringctl up 2 train lr rows --set rate=1
    [[ $output = *"a ring has only the setting on-demand"* ]]
}

@test "--until: a ring ends after the epoch that meets it" {
    rows=$(awk 'BEGIN { for (i = 0; i < 64; i++) printf "%d 1:%d\\n", i % 2, i % 2 }')
    printf '%b\n' "$rows" >rows
    run -0 ringctl -c "up 3 train lr rows --batch 8 --until loss<0.5
        wait done --timeout 30s; expect lost==0; status"
    [[ $output = *"ended: until"* ]]
    [[ $output != *"step 54,"* ]]
    run -64 ringctl up 2 train lr rows --until 'loss>0.5'
    [[ $output = *"--until must be loss<NUMBER"* ]]
}

@test "a failed expectation has status 1, a wait that times out 124; the run goes down" {
    run -1 --separate-stderr ringctl -c 'up 2; expect alive==3'
    [[ $stderr = *"expect alive==3: "*"alive is 2"* ]]
    [[ $stderr = *"has been ended"* ]]
    run -124 ringctl -c 'up 2; wait alive==3 --timeout 300ms'
    run -124 ringctl -c 'up 3 ops; kill 1; wait alive==3 --timeout 300ms'
    [[ $output = *'node 1 is dead (killed by signal 9 (Killed))'* ]]
    [[ $output = *"alive is 2"* ]]
    run -0 ringctl -c 'up 2 --name kept --keep'
    [[ $(ringctl ls -o csv) = *kept,idle,2* ]]
}

@test "Ctrl-C ends a wait with 130, not the run" {
    ringctl up 2 >/dev/null 2>&1
    # A shell makes background commands ignore SIGINT; env resets that.
    env --default-signal=INT "$BUILD/ringctl" wait alive==9 --timeout 60s \
        >said 2>&1 </dev/null 3>&- &
    until_true 60 hears $! ringctl
    kill -INT $!
    status=0
    wait $! || status=$?
    cat said
    [ "$status" = 130 ]
    grep -q interrupted said
    run -0 ringctl expect alive==2
}

# The key secures every connection of the nodes.
@test "a run with a key: it continues through a death; bad files are refused" {
    ringctl keygen lab.key
    [ "$(stat -c %a lab.key)" = 600 ]
    cp lab.key before
    run -64 ringctl keygen lab.key
    [[ $output = *"lab.key already exists"* ]]
    cmp lab.key before
    ringctl -c "up 3 ops --bytes 64K --wire tcp --key lab.key --name behind
        kill 1; wait 'op>=20 && epoch==2'; expect 'lost==0 && doubled==0'"
    GRADWIRE_KEY=lab.key ringctl -c "up 2 ops --bytes 64K --wire ipc; wait op>=5"
    run ! ringctl up 2 --key nowhere.key
    [[ $output = *"key file nowhere.key: No such file"* ]]
    chmod 640 lab.key
    run ! ringctl up 2 --wire tcp --key lab.key
    [[ $output = *"other users may use it (mode 0640); run chmod 600 on it"* ]]
}

@test "the files of a run belong to its user alone" {
    umask 0
    ringctl up 2 ops --bytes 4K --pace 1ms --name mine --keep
    [ "$(stat -c %a runs)" = 700 ]
    [ "$(stat -c %a runs/mine)" = 700 ]
    [ "$(stat -c %a runs/mine/log)" = 600 ]
    ringctl down
}

@test "links: named values change, others stay, also after a restart" {
    ringctl up 3 >/dev/null 2>&1
    run -0 ringctl link 0 1
    [ "$output" = "link 0>1: no emulation" ]
    ringctl link 0 1 delay 2ms
    run -0 ringctl link 0 1 rate 100M -o json
    [ "$(json delay_us <<<"$output")" = 2000 ]
    [ "$(json rate <<<"$output")" = 104857600 ]
    ringctl link 1 2 delay 1ms --both
    run -0 ringctl link 2 1
    [ "$output" = "link 2>1: delay 1ms, up" ]
    ringctl link 1 2 clear
    [ "$(ringctl link 1 2)" = "link 1>2: no emulation" ]
    ringctl kill 1
    ringctl restart 1
    ringctl wait alive==3
    [ "$(ringctl link 0 1)" = "link 0>1: delay 2ms, rate 100M/s, up" ]
}

# In the recording: its end, the votes of both others, and the new leader.
@test "controllers: an election as a table and in a recording" {
    ringctl up --servers 2 --workers 1 --controllers 3 train drift \
        --epochs 10000
    ringctl --timeout 60s -c 'wait step>=1; record rec.jsonl; kill leader
        wait controllers==2; kill server 0; wait epoch>=4'
    step=$(json step <<<"$(ringctl status -o json)")
    ringctl --timeout 60s wait "step>$((step + 5))" # the other serves: a lease
    run -0 --separate-stderr ringctl controllers -o csv
    ringctl record off
    awk -F, '/^[0-2],/ { state[$2]++; role[$3]++; if ($3 == "leads") term = $5
            if ($7 > $6 || $2 == "alive" && $9 == 0) exit 1 }
        END { exit !(state["alive"] == 2 && state["dead"] == 1 &&
            role["leads"] == 1 && role["follows"] == 1 && term >= 2) }' \
        <<<"$output"
    dead=$(json peer <<<"$(grep -m 1 '"failure"' rec.jsonl)")
    leader=$(json rank <<<"$(grep '"leader"' rec.jsonl | tail -n 1)")
    [ "$dead" -gt 316 ] && [ "$leader" -gt 316 ] && [ "$dead" != "$leader" ]
    [ "$(grep -c "\"vote\".*\"peer\":$leader," rec.jsonl)" -ge 2 ]
    grep -q '"lease","rank":'"$leader" rec.jsonl
    grep -q '"route","rank":'"$leader" rec.jsonl
    run -0 "$BUILD/ringtop" --from rec.jsonl --batch --page controllers --size 90x24
    [[ $output = *"controllers: c$((575 - leader)) leads"* ]]
    [[ $output = *"controller $((575 - dead)) has ended"* ]]
}

# Each push and pull, its answer, and both in the view of the recording.
@test "record: requests of workers to servers, and their answers" {
    ringctl --timeout 60s -c 'up --servers 2 --workers 2 train drift \
        --parts 2 --epochs 1000 --pace 1ms; wait step>=2; record rec.jsonl
        wait step>=100; record off; down' >/dev/null
    awk '/"kind":"request"/ { asked++ } /"kind":"reply"/ { answered++ }
        END { exit !(asked > 4 && answered > 4) }' rec.jsonl
    run -0 "$BUILD/ringtop" --from rec.jsonl --batch --page requests
    [[ $output = *" of 2 parts done"* ]]
    [[ $output =~ [1-9][0-9.]*" ms per answer" ]]
}

# In both the ring loses node 2 and gets it back: three views.
@test "chaos --faults: one schedule for the simulator and for processes" {
    cat >one.faults <<'END'
delay 0>1 1ms..2ms for 300ms
at 200ms crash 2 for 600ms
at 250ms cut 0|3 for 5ms
at 300ms dup *>* 0.1
at 900ms crash c0 for 200ms
END
    run -0 ringctl sim ring -n 4 --faults one.faults -o jsonl
    [[ $output = *'"crashes":1,'*'"views":3,'*'"violation":null'* ]]
    run -0 --separate-stderr ringctl --timeout 60s -c 'up 4 ops --bytes 4K \
        --pace 1ms --controllers 3; wait op>=1; chaos --faults one.faults -o csv
        wait alive==4; expect epoch==3 && lost==0 && doubled==0; ring'
    awk -F, '/^[0-9.]+,/ && $2 != "at_s" { print $2, $3 }' <<<"$output" >acts
    printf '%s\n' 'link 0>1' 'kill 2' 'cut 0>3' 'cut 3>0' 'link clear 0>3' \
        'link clear 3>0' 'link clear 0>1' 'dup *' 'restart 2' 'kill c0' \
        'restart c0' | diff - acts
    [[ $output = *"# ring: 0 > 1 > 2 > 3 > 0"* ]]
    run -64 ringctl -c 'up 2; chaos --rate 1/s --faults one.faults'
    [[ $output = *"a schedule has its own times"* ]]
    run -65 ringctl -c "up 2; chaos --faults 'at 1s crush 2'"
    [[ $output = *"--faults:1:7: "* ]]
}

@test "each document has its provenance, also the answer to a verb" {
    ringctl -c 'up 3 ops --name origin; status -o json; ring -o json; controllers -o jsonl
        kill 1 -o jsonl; wait alive==2 -o json' >documents
    grep -o '"provenance":{"date":"20[^}]*"command":"ringctl [a-z]*' documents |
        sed 's/.* //' >verbs
    [ "$(tr '\n' ' ' <verbs)" = "status ring controllers kill wait " ]
}

@test "chaos: the same seed has the same faults" {
    for try in 1 2; do
        ringctl --timeout 60s -c 'up 4; chaos --seed 5 --rate 8/s --for 1500ms -o csv' |
            awk -F, '/GW_/ { print $2, $3 }' >acts.$try
    done
    # The number of acts within the time varies.
    least=$(wc -l acts.1 acts.2 | sort -n | awk 'NR == 1 { print $1 }')
    [ "$least" -ge 3 ]
    diff <(head -n "$least" acts.1) <(head -n "$least" acts.2)
}

@test "events: live, and from a recording" {
    ringctl up 3 ops --bytes 4K --pace 1ms >/dev/null 2>&1
    ringctl record
    run -0 ringctl events --follow --for 1s -o jsonl
    json -l <<<"$output"
    ringctl kill 1
    run -0 ringctl watch --for 1ns # a watch begins with a status
    [[ $output = *"2 alive"* ]]
    run -0 ringctl watch --for 300ms --every 100ms
    [[ $output = *"alive"* ]]
    ringctl record off
    run -0 ringctl events --last 5
    [ "${#lines[@]}" -eq 5 ]
}

@test "the shell: prompt, completion, history; its runs end with it" {
    command -v tmux >/dev/null || skip "tmux is not installed"
    tmux="tmux -S tmux -f /dev/null"
    $tmux new-session -d -x 90 -y 30 -s t \
        "XDG_STATE_HOME=$XDG_STATE_HOME $BUILD/ringctl; echo left \$?; read -r x" 3>&-
    # shellcheck disable=SC2317 # until_true calls it
    shows() {
        $tmux capture-pane -p -t t >seen
        grep -qF -- "$1" seen
    }
    sees() {
        until_true 60 shows "$1" || { cat seen; return 1; }
    }
    # A Ctrl-C that is too early reaches the prompt, which ignores it.
    # shellcheck disable=SC2317
    interrupts() {
        $tmux send-keys -t t C-c
        shows "interrupted"
    }
    sees "ringctl>"
    $tmux send-keys -t t "up 2 --name mole" Enter
    sees "mole e1 2 alive>"
    $tmux send-keys -t t "paus" Tab "1" Enter
    sees "> pause 1"
    $tmux send-keys -t t "resume worker " Tab Tab
    sees "leader"
    $tmux send-keys -t t C-c
    $tmux send-keys -t t "wait alive==9" Enter
    # Ctrl-C drops unread input: the line must be read first.
    sees "waiting for alive==9"
    until_true 60 interrupts
    # Input before the prompt is back may be lost. A Ctrl-C that came late is
    # shown there.
    # shellcheck disable=SC2317
    prompts() {
        $tmux capture-pane -p -t t >seen
        grep -v '^$' seen | tail -1 | grep -qE '^mole e[0-9]+ [0-9]+ alive>( *\^C)* *$'
    }
    until_true 60 prompts || { cat seen; return 1; }
    $tmux send-keys -t t C-d
    sees "run mole has been ended"
    sees "left 0"
    grep -qx 'pause 1' "$XDG_STATE_HOME/gradwire/ringctl_history"
}

@test "a wait with an unknown name is found before the commands in front of it run" {
    run -64 --separate-stderr ringctl -c 'up 2 --name early; wait alvie==2'
    [[ $stderr = *'"alvie"; did you mean "alive"?'* ]]
    [ -z "$output" ]
    printf 'up 2 --name early\nexpect lost==0 --timeout 1s\nwait step>=x\n' >late.ring
    run -64 --separate-stderr ringctl late.ring
    [[ $stderr = *'late.ring:3: '*'a number'* ]]
    run -64 --separate-stderr "$BUILD/ringctl" <<<'up 2 --name early; wait alvie==2'
    run ! ringctl --run early status
    # With -k the other commands are still of use.
    run -64 --separate-stderr ringctl -k -c 'ls; wait alvie==2; ls -o csv'
    [[ $output = *run,state* ]]
}

@test "the shell: help fits 24 rows, longer help has pages, and a verb asks for its node" {
    command -v tmux >/dev/null || skip "tmux is not installed"
    tmux="tmux -S tmux -f /dev/null"
    $tmux new-session -d -x 80 -y 24 -s t "'$BUILD/ringctl'; read -r x" 3>&-
    # shellcheck disable=SC2317 # until_true calls it
    shows() {
        $tmux capture-pane -p -t t >seen
        grep -q -- "$1" seen
    }
    sees() {
        until_true 60 shows "$1" || { cat seen; return 1; }
    }
    sees '^ringctl>'
    $tmux send-keys -t t C-l help Enter
    sees '^"help COMMAND" explains one'
    grep -q '^ringctl: start a ring' seen
    grep -q '^  Nodes  *kill stop pause' seen
    $tmux send-keys -t t C-l 'help up' Enter
    sees '^-- Enter: next page, q: end --'
    grep -q '^Usage: ringctl up' seen
    $tmux send-keys -t t Enter
    hidden() { ! shows '^Usage: ringctl up'; }
    until_true 60 hidden
    sees '^-- Enter: next page, q: end --'
    $tmux send-keys -t t q Enter
    sees '^ringctl> *$'
    # The answer may be typed before the question.
    $tmux send-keys -t t C-l 'help up' Enter q Enter
    sees '^ringctl> *$'
    $tmux send-keys -t t C-l kill Enter
    sees 'start one with: ringctl up 4$'
    $tmux send-keys -t t C-l 'up 3 ops --name asker' Enter
    sees '^asker e1 3 alive>'
    $tmux send-keys -t t kill Enter
    sees '^kill which node? \[2\]'
    $tmux send-keys -t t Enter
    sees '^asker e2 2 alive>'
    grep -q 'node 2 was killed' seen
    $tmux send-keys -t t pause Enter
    sees '^pause which node? \[1\]'
    $tmux send-keys -t t 0 Enter
    sees 'node 0 was paused'
    $tmux send-keys -t t C-d
}

@test "the shell: Ctrl-\\ ends it, and its runs" {
    command -v tmux >/dev/null || skip "tmux is not installed"
    tmux="tmux -S tmux -f /dev/null"
    $tmux new-session -d -x 90 -y 30 -s t \
        "trap : QUIT; $BUILD/ringctl; echo left \$?; read -r x" 3>&-
    # shellcheck disable=SC2317 # until_true calls it
    shows() {
        $tmux capture-pane -p -t t | grep -qF -- "$1"
    }
    until_true 20 shows "ringctl>"
    $tmux send-keys -t t "up 2 --name vole" Enter
    until_true 20 shows "vole e1 2 alive>"
    $tmux send-keys -t t "C-\\"
    until_true 20 shows "run vole has been ended"
    until_true 20 shows "left 130"
}

@test "on a terminal, no line of a status is wider than it" {
    command -v tmux >/dev/null || skip "tmux is not installed"
    tmux="tmux -S tmux -f /dev/null"
    $tmux new-session -d -x 80 -y 40 -s t "LC_ALL=C.UTF-8 \
        '$BUILD/ringctl' --timeout 60s -c 'up 5 ops --bytes 4K --pace 1ms; \
        wait step>=3; kill 2; wait op>=20; status'; echo left; read -r x" 3>&-
    for _ in $(seq 4000); do
        # Joins the wrapped lines.
        $tmux capture-pane -J -p -t t >seen
        ! grep -q '^left' seen || break
        read -rt 0.02 <> <(:) || true
    done
    cat seen
    grep -q '^# recovery: node 2 (exit): epoch 2' seen
    grep -q '^#   *.*fresh' seen
    grep -q 'killed by' seen
    run awk '{ sub(/ +$/, "") } length > 80' seen
    [ -z "$output" ]
}

@test "the scripts of the man page run" {
    mkdir examples
    awk -v dir=examples -f "$ROOT/tests/cli/examples.awk" "$MAN"
    [ -e examples/1.ring ]
    for script in examples/*.ring; do
        run -0 ringctl "$script"
    done
}
