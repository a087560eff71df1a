#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# collrun as a person meets it: help, typos, exit statuses, formats, and the
# commands that need no other process: list, plan, verify, price.

setup_file() {
    bats_require_minimum_version 1.5.0
    COLLRUN=${COLLRUN:-build/collrun}
    COLLRUN=$(realpath "$COLLRUN")
    export COLLRUN
    export MAN=$PWD/man/collrun.1
    export GRADWIRE_CALIBRATION=$BATS_FILE_TMPDIR/none.json
    # shellcheck disable=SC2046
    ${CC:-cc} -o "$BATS_FILE_TMPDIR/jsoncheck" tests/cli/jsoncheck.c \
        $(pkg-config --cflags --libs jansson)
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    cat > ring.plan <<'EOF'
# ring all-reduce, 3 ranks, 3 chunks
allreduce ranks=3 chunks=3
step   0>1 c0 +   1>2 c1 +   2>0 c2 +
step   0>1 c2 +   1>2 c0 +   2>0 c1 +
step   0>1 c1 =   1>2 c2 =   2>0 c0 =
step   0>1 c0 =   1>2 c1 =   2>0 c2 =
EOF
    cat > twice.plan <<'EOF'
allreduce ranks=3 chunks=1
step 0>1 c0 +
step 0>2 c0 +
step 1>2 c0 +
step 2>0 c0 =  2>1 c0 =
EOF
    printf 'allreduce ranks=2 chunks=1\nstep 0>1 c0 +\n' > short.plan
    printf 'allreduce ranks=3 chunks=1\nstep 0>1 c0 *\n' > bad.plan
}

collrun() {
    "$COLLRUN" "$@"
}

# The value at a path of a JSON document: json KEY... < document
json() {
    "$BATS_FILE_TMPDIR/jsoncheck" "$@"
}

@test "without arguments: a help of about ten lines, examples first, status 0" {
    run -0 --separate-stderr collrun
    [ "${#lines[@]}" -le 12 ]
    [[ ${lines[1]} = Examples:* ]]
    [ -z "$stderr" ]
}

@test "-h is short, --help and help CMD are the same and long" {
    run -0 collrun price -h
    short=$output
    run -0 collrun price --help
    long=$output
    run -0 collrun help price
    [ "$output" = "$long" ]
    [ "${#short}" -lt "${#long}" ]
    [[ $long = *Examples:* ]]
    [[ $long = *"Default: 1M."* ]]
}

@test "--version prints the versions of collrun and libzmq" {
    run -0 collrun --version
    [[ $output =~ ^collrun\ [0-9.]+\ \(libzmq\ [0-9.]+\)$ ]]
}

@test "a typo gets a suggestion, the valid words, and status 64" {
    run -64 collrun lsit
    [[ $output = *'did you mean "list"?'*"verify"* ]]
    run -64 collrun list allredcue
    [[ $output = *'did you mean "allreduce"?'* ]]
    run -64 collrun plan allreduce --aglo ring
    [[ $output = *'did you mean "--algo"?'* ]]
    run -64 collrun plan allreduce --algo rign
    [[ $output = *'did you mean "ring"?'*swing* ]]
    run -64 collrun price allreduce --wire tpc
    [[ $output = *'did you mean "tcp"?'* ]]
}

@test "without RDMA, verbs reports it" {
    for device in /sys/class/infiniband/*; do
        [ ! -e "$device" ] || skip "there is an RDMA device here"
    done
    run -64 collrun bench barrier -n 2 --wire verbs --insecure
    [[ $output = *"verbs wire: this host has no RDMA device"* ||
        $output = *"verbs wire: this gradwire was built without"* ]]
}

@test "control bytes in arguments never reach the terminal" {
    for words in $'\e[2J' $'run \e[2J' $'plan \x9b2J' $'list --\e[2J' $'-n \e run'; do
        # shellcheck disable=SC2086
        run --separate-stderr collrun $words
        [ "$status" -ne 0 ]
        [ -n "$stderr" ]
        run -1 env LC_ALL=C grep -q '[^ -~]' <<<"$stderr"
    done
    run -64 collrun run $'\e[2J'
    [[ $output = *'"\x1b[2J"'* ]]
}

@test "options are accepted before the command and after operands" {
    run -0 collrun plan allreduce --algo ring -n 3
    after=$output
    run -0 collrun -n3 --algo=ring plan allreduce
    [ "$output" = "$after" ]
}

@test "0 is refused as a number of ranks, segments or ranks per rack" {
    for option in --ranks --segments --group; do
        run -64 collrun plan allreduce --algo ring $option 0
        [ "$output" = "collrun: $option must be at least 1" ]
    done
}

@test "an error in a command line is JSON with -o json at any position" {
    for words in 'lsit -o json' '-o json plan --nope' 'plan -n x -ojson' \
        'verify --output=json nothing.plan'; do
        # shellcheck disable=SC2086
        run --separate-stderr collrun $words
        [ "$status" -ne 0 ]
        [ -n "$stderr" ]
        [ "$(json status <<< "$output")" = "$status" ]
    done
}

@test "list: every algorithm, and of each collective" {
    run -0 collrun list -o csv
    [[ ${lines[0]} = op,algo,ranks,formula,summary,source* ]]
    [ "${#lines[@]}" -gt 30 ]
    [ "$(collrun list -o json | json rows 0 op)" = broadcast ]
    run -0 collrun list all-gather
    [[ $output = *bruck*'2^k'* || $output = *'2^k'*bruck* ]]
    [[ $output != *swing* ]]
}

@test "list: types, reductions, wires" {
    [ "$(collrun list types -o csv | wc -l)" -eq 13 ]
    [ "$(collrun list redops -o csv | wc -l)" -eq 10 ]
    run -0 collrun list wires
    [[ $output = *shm*ipc*tcp* ]]
}

@test "every algorithm's name is offered by completion" {
    collrun completion bash | grep 'plan:--algo' >words
    collrun list -o csv | sed 1d | cut -d, -f2 | sort -u >names
    [ "$(wc -l <names)" -gt 10 ]
    while read -r name; do
        grep -qw -e "$name" words || { echo "missing: $name"; false; }
    done <names
}

@test "completion scripts parse" {
    collrun completion bash > c.bash
    bash -n c.bash
    # The shell's completions for "collrun pla".
    # shellcheck disable=SC2016
    run -0 bash -c 'source ./c.bash; COMP_WORDS=(collrun pla); COMP_CWORD=1
        _collrun; echo "${COMPREPLY[@]}"'
    [ "$output" = plan ]
    # shellcheck disable=SC2016
    run -0 bash -c 'source ./c.bash
        COMP_WORDS=(collrun price allreduce --wire t); COMP_CWORD=4
        _collrun; echo "${COMPREPLY[@]}"'
    [ "$output" = tcp ]
    if command -v zsh > /dev/null; then
        collrun completion zsh > c.zsh
        zsh -n c.zsh
    fi
    if command -v fish > /dev/null; then
        collrun completion fish > c.fish
        fish -n c.fish
    fi
}

@test "plan: the printed plan can be read back" {
    collrun plan allreduce --algo ring -n 3 > mine.plan
    run -0 collrun plan mine.plan
    [ "$output" = "$(cat mine.plan)" ]
    run -0 collrun verify mine.plan
}

@test "plan: a file for any number of ranks takes -n, or 4" {
    cat > any.plan <<'EOF'
allreduce ranks=any chunks=P
step for i in 0..P-1: for d in 1..P-1: i>(i+d)%P c(i+d)%P +
step for i in 0..P-1: for d in 1..P-1: i>(i+d)%P ci =
EOF
    run -0 collrun plan any.plan
    [[ $output = *ranks=4* ]]
    run -0 collrun verify any.plan -n 9
    [[ $output = *any.plan*allreduce*9* ]]
}

@test "plan: one row per transfer in JSON" {
    run -0 collrun plan allreduce --algo ring -n 3 -o json
    [ "$(json rows '#' <<< "$output")" = 12 ]
    [ "$(json steps <<< "$output")" = 4 ]
    [ "$(json rows 0 action <<< "$output")" = + ]
}

@test "plan --draw: one row per rank, one column per step" {
    run -0 collrun plan ring.plan --draw
    [[ $output = *"rank  step1    step2"* || $output = *"step4"* ]]
    [[ ${lines[-1]} = *'c2+>0  c1+>0  c0=>0  c2=>0'* ]]
}

@test "plan: without an algorithm it lists them" {
    run -64 collrun plan allreduce -n 6
    [[ $output = *ring*swing*"--algo NAME"* ]]
    run -64 collrun plan allgather --algo recursive_doubling -n 6
    [[ $output = *"does not support 6 ranks"* ]]
    run -64 collrun plan ring.plan --algo ring
}

@test "verify: a right plan has status 0" {
    run -0 --separate-stderr collrun verify ring.plan
    [[ ${lines[1]} = ring.plan*none ]]
    [ -z "$stderr" ]
}

@test "verify: a contribution counted twice, 1, with step, ranks, chunk and history" {
    run -1 --separate-stderr collrun verify twice.plan
    [[ $stderr = *"twice.plan: step 3: 1>2 c0"*"rank 0 twice"* ]]
    [[ $stderr = *"step 1: 0>1 c0 +"*"step 2: 0>2 c0 +"* ]]
    [[ $output = *double* ]]
}

@test "verify: a plan that ends too early, 1" {
    run -1 collrun verify short.plan
    [[ $output = *"rank 0 c0 lacks rank 1"* ]]
}

@test "verify: a file that does not parse, 65, with line and column" {
    run -65 --separate-stderr collrun verify bad.plan
    [[ $stderr = *"bad.plan:2:"* ]]
    run -65 collrun verify missing.plan
    [[ $output = *"missing.plan: No such file"* ]]
}

@test "verify: all files are checked, and the first fault decides" {
    run -1 --separate-stderr collrun verify twice.plan bad.plan ring.plan -o json
    [ "$(json rows '#' <<< "$output")" = 3 ]
    [ "$(json rows 0 fault <<< "$output")" = double ]
    [ "$(json rows 1 fault <<< "$output")" = unread ]
    [ "$(json rows 2 fault <<< "$output")" = none ]
    [ "$(json status <<< "$output")" = 1 ]
}

@test "verify: file names with odd bytes still make valid JSON" {
    name=$(printf 'a"\\\377.plan')
    cp ring.plan "$name"
    collrun verify "$name" -o json | json
    collrun verify "$name" -o jsonl | json -l
}

@test "verify: all algorithms of a collective" {
    run -0 collrun verify allreduce -n 6
    [[ $output = *ring*swing* ]]
    run -0 collrun verify broadcast --algo circulant -n 11 --root 7 --segments 5
}

@test "verify --all: every algorithm for every p up to 64" {
    run -0 --separate-stderr collrun verify --all --max-ranks 64 -o json
    [ "$(json wrong <<< "$output")" = 0 ]
    [ "$(json rows '#' <<< "$output")" = "$(collrun list -o csv | sed 1d | wc -l)" ]
    [ "$(json rows 0 ranks_max <<< "$output")" = 64 ]
}

# timeout(1) signals the process and its group: two signals, one interruption.
@test "verify FILE --all: every number of ranks from 2; a fault names its number" {
    printf 'allreduce ranks=P chunks=P\nfor s in 0..P-2:\n  step for i in 0..P-1: i>(i+1)%%P c(i-s)%%P +\n' >any.plan
    printf 'for s in 0..P-2:\n  step for i in 0..P-1: i>(i+1)%%P c(i+1-s)%%P =\n' >>any.plan
    run -0 collrun verify any.plan --all --max-ranks 12 -o json
    [ "$(json rows 0 plans <<< "$output")" = 11 ]
    [ "$(json rows 0 ranks_max <<< "$output")" = 12 ]
    # right for 3 ranks only
    printf 'broadcast ranks=P chunks=1\nstep 0>1 c0 =  0>2%%P c0 =\n' >few.plan
    run -1 --separate-stderr collrun verify few.plan --all --max-ranks 5 -o json
    [ "$(json rows 0 plans <<< "$output")" = 4 ]
    [ "$(json rows 0 wrong <<< "$output")" = 3 ]
    [[ $stderr = *"collrun verify few.plan -n "[245]": "* ]]
    # a file with a number of ranks has one plan
    run -0 collrun verify ring.plan --all -o json
    [ "$(json rows 0 plans <<< "$output")" = 1 ]
    # in a list, with others
    run -0 collrun verify allreduce --algo any.plan,swing --all --max-ranks 9 -o json
    [ "$(json rows 0 algo <<< "$output")" = any.plan ]
    [ "$(json rows 1 algo <<< "$output")" = swing ]
    run -0 collrun verify allreduce --algo all,any.plan -n 6 -o csv
    [[ $output = *$'\nany.plan,allreduce,6,'* ]]
    run -65 collrun verify absent.plan --all
}

@test "verify --all: interrupted, a valid document marked partial, 130" {
    run -130 --separate-stderr timeout --preserve-status -s INT 1 \
        "$COLLRUN" verify --all --max-ranks 2000 -o json
    [ "$(json partial <<< "$output")" = true ]
    [ "$(json status <<< "$output")" = 130 ]
    run -130 --separate-stderr timeout --preserve-status -s TERM 1 \
        "$COLLRUN" verify --all --max-ranks 2000 -o jsonl
    [ "$(json -l partial <<< "$output")" = true ]
}

@test "price: counts are exact, the cheapest comes first" {
    run -0 collrun price allreduce --algo ring -n 4 -b 1M -o json
    [ "$(json rows 0 rounds <<< "$output")" = 6 ]
    [ "$(json rows 0 messages <<< "$output")" = 24 ]
    [ "$(json rows 0 rank_bytes <<< "$output")" = 1572864 ]
    run -0 collrun price allreduce -n 8 -b 1M -o csv
    column=$(head -1 <<< "$output" | tr , '\n' | grep -n predicted_us | cut -d: -f1)
    sed 1d <<< "$output" | cut -d, -f"$column" > times.txt
    sort -gc times.txt
}

@test "price: no algorithm is better than the bound, and one reaches it" {
    for wire in shm tcp; do
        for op in allreduce allgather broadcast; do
            for bytes in 64 64K 64M; do
                collrun price "$op" -n 2 -b "$bytes" -w "$wire" -o csv
            done
        done
    done | awk -F, '/bound_percent/ { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["bound_percent"] > 100.05 { print; bad = 1 }
        $at["bound_percent"] > 99.95 { best++ }
        END { exit bad || best < 12 }'
}

@test "price: the size counts all blocks" {
    run -0 collrun price allgather --algo ring -n 4 -b 1M -o json
    [ "$(json rows 0 rank_bytes <<< "$output")" = 786432 ]
}

@test "price: a root that receives from all at once receives p-1 buffers" {
    for algo in direct:7 binomial:3 partitioned:1.75 chain:1; do
        run -0 collrun price reduce --algo ${algo%:*} -n 8 -b 1M -o json
        [ "$(json rows 0 rank_bytes <<< "$output")" -le 1048576 ]
        [ "$(json rows 0 rank_received <<< "$output")" = \
            "$(awk "BEGIN { print ${algo#*:} * 1048576 }")" ]
    done
}

@test "price: a file" {
    run -0 collrun price ring.plan -b 3M
    [[ $output = *ring.plan*4194304* ]]
}

@test "price: a list of algorithms and files, each once" {
    mine=$BATS_TEST_TMPDIR/mine.plan
    collrun plan allreduce -a ring -n 6 >"$mine"
    collrun price allreduce -n 6 -a "all,$mine,ring" -o jsonl >"$BATS_TEST_TMPDIR/all"
    all=$(collrun price allreduce -n 6 -o jsonl | wc -l)
    [ "$(wc -l <"$BATS_TEST_TMPDIR/all")" -eq $((all + 1)) ]
    grep -q '"rounds":10,' < <(grep 'mine.plan","rounds"' "$BATS_TEST_TMPDIR/all")
    # the same plan has the same price, by either name
    collrun price allreduce -n 6 -a "$mine,ring" -o jsonl >two
    [ "$(grep -o '"predicted_us":[0-9.]*' two | uniq -c | tr -s ' ' | cut -d' ' -f2)" = 2 ]
    [ "$(collrun price "$mine" -n 6 -o jsonl | grep -o '"predicted_us":[0-9.]*')" = \
        "$(grep -o '"predicted_us":[0-9.]*' two | uniq)" ]
    run -64 collrun price allreduce -a ring,rign
    [[ $output = *rign* ]]
}

@test "where one algorithm is executed, a list is refused, and the commands that compare are named" {
    printf '1 1:1\n-1 1:-1\n' >two.libsvm
    for words in all ring,swing ring,mine.plan; do
        for command in "run allreduce" "plan allreduce" "train lr two.libsvm"; do
            # shellcheck disable=SC2086 # words
            run -64 collrun $command -n 4 --algo "$words"
            [[ $output = *"--algo $words: this command takes one algorithm"*'"price", "sim"'* ]]
        done
    done
}

@test "price --why explains the choice" {
    run -0 collrun price allreduce -n 8 -b 64 --wire tcp --why
    [[ $output = *"over tcp a message costs"* ]]
    [[ $output = *"a call of 64 among 8 ranks uses"* ]]
    [[ $output = *"# sizes: "* ]]
    run -0 collrun price alltoall -n 4 -b 1M --why
    [[ $output = *'uses linear: '*'in one pass; pairwise, with messages, is not certainly faster'* ]]
}

@test "all formats are valid" {
    for words in 'list' 'plan allreduce --algo ring' 'verify allreduce' \
        'price allreduce --why' 'plan allreduce --algo ring --draw'; do
        # shellcheck disable=SC2086
        collrun $words -o json | json
        # shellcheck disable=SC2086
        collrun $words -o jsonl | json -l
    done
}

@test "colour: none in a pipe, with CLICOLOR_FORCE yes, NO_COLOR and --color win" {
    run -0 collrun list types
    [[ $output != *$'\e'* ]]
    CLICOLOR_FORCE=1 run -0 collrun help list
    [[ $output = *$'\e'* ]]
    NO_COLOR=1 CLICOLOR_FORCE=1 run -0 collrun help list
    [[ $output != *$'\e'* ]]
    NO_COLOR=1 run -0 collrun help list --color always
    [[ $output = *$'\e'* ]]
}

@test "a full disk is an error" {
    [ -w /dev/full ] || skip "there is no /dev/full"
    # shellcheck disable=SC2016
    run -70 bash -c '"$COLLRUN" list > /dev/full'
    [[ $output = *"cannot write the output"* ]]
}

# The parts of the man page about a command: its own, and what several share.
section_of() {
    sed -n "/^\.Ss $1\$/,/^\.S[sh] /p" "$MAN"
    case $1 in
    plan | verify | price | sim | run | export)
        sed -n "/^\.Ss Which plan\$/,/^\.S[sh] /p" "$MAN" ;;
    esac
    case $1 in
    run | bench | train | exec)
        sed -n "/^\.Ss Under mpirun/,/^\.S[sh] /p" "$MAN" ;;
    esac
}

# Reads a page. Is there an entry for --OPTION?
describes() {
    grep -Eq "^\.It .*Fl .-${1#--}( |\$)"
}

@test "every command and option of the table is in the man page" {
    collrun completion words >listed
    [ "$(wc -l <listed)" -ge 50 ]
    missing=
    while read -r command option; do
        case $command,$option in
        --*) describes "$command" < "$MAN" ;;
        *,) grep -q "^\.Ss $command\$" "$MAN" ;;
        *) section_of "$command" | describes "$option" ;;
        esac || missing+=" $command $option;"
    done <listed
    echo "missing:$missing"
    [ -z "$missing" ]
}

@test "the man page is clean" {
    command -v mandoc > /dev/null || skip "mandoc is not installed"
    run -0 mandoc -Tlint -W warning "$MAN"
}
