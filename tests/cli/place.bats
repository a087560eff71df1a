#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Ranks started by another launcher: mpirun of Open MPI and of MPICH where
# installed, and variables set by hand as torchrun, Slurm and Kubernetes set
# them. Also `collrun exec`, and the program that runs under all of them.
# shellcheck disable=SC2154 # find_port sets port

load ../until.bash

setup_file() {
    bats_require_minimum_version 1.5.0
    cd "$BATS_TEST_DIRNAME/../.." || return 1
    COLLRUN=$(realpath "${COLLRUN:-build/collrun}")
    BUILD=$(realpath "${B:-build}")
    export COLLRUN BUILD
    export GRADWIRE_CALIBRATION=$BATS_FILE_TMPDIR/none.json
    # Tests that themselves run under a launcher would be its ranks.
    for name in $(env | sed -n 's/^\(GW_[A-Z_]*\|[A-Z_]*RANK\|WORLD_SIZE\|PMI_[A-Z]*\|SLURM_[A-Z_]*\|JOB_COMPLETION_INDEX\)=.*/\1/p'); do
        unset "$name"
    done
    export HELLO=$BATS_FILE_TMPDIR/hello
    # shellcheck disable=SC2086
    ${CC:-cc} -Wall -Wextra -Werror -o "$HELLO" labs/programs/hello.c \
        -I lib/include -L "$BUILD" -lgradwire -Wl,-rpath,"$BUILD" ${SAN:-}
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
}

teardown() {
    for pid in $started; do
        kill -KILL "$pid" 2>kill.txt || true
    done
    remove_hosts
}

# mpi KIND RANKS COMMAND...: by Open MPI's or MPICH's mpirun.
mpi() {
    kind=$1
    ranks=$2
    shift 2
    if [ "$kind" = openmpi ]; then
        set -- --allow-run-as-root --oversubscribe -n "$ranks" "$@"
    else
        set -- -n "$ranks" "$@"
    fi
    TMPDIR=$BATS_TEST_TMPDIR timeout 300 "mpirun.$kind" "$@"
}

need() {
    command -v "mpirun.$1" >which.txt || skip "mpirun.$1 is not installed"
}

# Three rows of three ranks, printed once.
bench_under() {
    need "$1"
    mpi "$1" 3 "$COLLRUN" bench allreduce --sizes 1K,8K,64K -i 5 -o jsonl \
        >rows.jsonl
    cat rows.jsonl
    [ "$(wc -l <rows.jsonl)" -eq 3 ]
    [ "$(grep -c '"wrong":0,.*"wire":"shm","ranks":3,' rows.jsonl)" -eq 3 ]
}

@test "collrun bench under mpirun of Open MPI has one rank per process" {
    bench_under openmpi
}

@test "collrun bench under mpirun of MPICH has one rank per process" {
    bench_under mpich
}

# All links of the plan, counted on all ranks, come together at rank 0.
run_under() {
    need "$1"
    mpi "$1" 3 "$COLLRUN" run allreduce --algo ring -b 12K --wire "$2" \
        --events events.jsonl -o json >run.json
    cat run.json
    grep -q '"ranks":3' run.json
    grep -q '"wrong":0' run.json
    for rank in 0 1 2; do
        grep -q "\"rank\":$rank" events.jsonl
    done
}

@test "collrun run under Open MPI: reports and events of all ranks arrive" {
    run_under openmpi tcp
}

@test "collrun run under MPICH: reports and events of all ranks arrive" {
    run_under mpich ipc
}

# Hydra takes two names of this host for two hosts. The address that rank 0
# finds must be unambiguous: with several candidates, rank 0 needs a setting.
@test "MPICH between hosts: rank 0 leaves its address with the manager" {
    need mpich
    address=$(hostname -I 2>hostname.err | tr ' ' '\n' | grep -m 1 '[.]') ||
        skip "this host has no address but loopback"
    export GW_INTERFACE=$address GW_INSECURE=1
    TMPDIR=$BATS_TEST_TMPDIR timeout 60 mpirun.mpich -launcher fork \
        -hosts localhost,127.0.0.1 -n 4 -ppn 2 \
        "$COLLRUN" bench allreduce --sizes 1K,8K -i 5 -o jsonl >rows.jsonl
    cat rows.jsonl
    [ "$(grep -c '"wrong":0,.*"wire":"tcp","ranks":4,' rows.jsonl)" -eq 2 ]
}

@test "collrun train learns the same under mpirun as alone" {
    need mpich
    data=/usr/share/doc/liblinear-tools/examples/heart_scale
    [ -e "$data" ] || skip "the data set heart_scale is not installed"
    mpi mpich 2 "$COLLRUN" train lr "$data" --epochs 2 -o csv >under.csv
    "$COLLRUN" train lr "$data" -n 2 --epochs 2 -o csv >alone.csv
    cut -d, -f1-3 under.csv >under.txt
    cut -d, -f1-3 alone.csv >alone.txt
    diff under.txt alone.txt
    [ "$(wc -l <under.txt)" -gt 2 ]
}

@test "two jobs of one engine at a time do not meet" {
    need mpich
    mpi mpich 2 "$COLLRUN" bench allreduce --sizes 1K -i 2000 -o jsonl \
        >one.jsonl 3>&- &
    mpi mpich 2 "$COLLRUN" bench allreduce --sizes 1K -i 2000 -o jsonl \
        >two.jsonl
    wait $!
    grep -q '"wrong":0' one.jsonl
    grep -q '"wrong":0' two.jsonl
}

@test "a number of ranks that differs from the engine's is an error, printed once" {
    need mpich
    run mpi mpich 2 "$COLLRUN" bench allreduce -n 3
    echo "$output"
    [ "$status" -eq 64 ]
    [ "$(grep -c -- '--ranks 3: PMI started 2 ranks' <<<"$output")" -eq 1 ]
}

# wait_for FILE PATTERN
wait_for() {
    for _ in $(seq 2400); do
        ! grep -q "$2" "$1" || return 0
        read -r -t 0.05 _ <>tick || true
    done
    cat "$1"
    return 1
}

# ends PID: sets $status to its exit status.
ends() {
    status=0
    wait "$1" || status=$?
}

# start_two ARGUMENTS...: starts collrun by hand, so that the test knows the
# pids: rank 0 is $zero, rank 1 is $one.
start_two() {
    mkfifo tick
    export GW_SIZE=2 GW_RENDEZVOUS=ipc://@gradwire-bats-$$-$BATS_TEST_NUMBER
    GW_RANK=0 "$COLLRUN" "$@" >0.out 2>0.err 3>&- &
    zero=$!
    GW_RANK=1 "$COLLRUN" "$@" >1.out 2>1.err 3>&- &
    one=$!
    started="$zero $one"
}

@test "a rank that dies under an engine: the others ask to be started again" {
    start_two bench allreduce -b 8 -e 64M -f 2 -s 1s -o jsonl
    wait_for 0.out '"time_us"'
    pgrep -P "$one" -x 'rank 1/2' >child.txt
    kill -KILL "$(cat child.txt)"
    ends "$one"
    [ "$status" -eq 75 ]
    ends "$zero"
    cat 0.err 1.err
    [ "$status" -eq 75 ]
    grep -q 'rank 1 (pid [0-9]* on .*) ended without a result' 0.err
    grep -q 'rank 1 (pid [0-9]*) was killed by signal 9' 1.err
    [ ! -s 1.out ]
}

@test "SIGTERM to one rank: all end after the same step, with status 75" {
    data=/usr/share/doc/liblinear-tools/examples/heart_scale
    [ -e "$data" ] || skip "the data set heart_scale is not installed"
    start_two train lr "$data" --epochs 100000 --schedule constant -o jsonl
    wait_for 0.out '"epoch":3,'
    kill -TERM "$one"
    ends "$one"
    [ "$status" -eq 75 ]
    ends "$zero"
    tail -n 2 0.out
    cat 0.err 1.err
    [ "$status" -eq 75 ]
    tail -n 1 0.out | grep -q '"partial":true,"status":75'
}

@test "torchrun's variables: two processes, one communicator" {
    export WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1
    find_port
    export MASTER_PORT=$port
    RANK=1 LOCAL_RANK=1 "$HELLO" >1.out 3>&- &
    RANK=0 LOCAL_RANK=0 "$HELLO" >0.out
    wait $!
    grep -qx 'rank 0 of 2 over shm: the ranks add up to 1' 0.out
    grep -qx 'rank 1 of 2 over shm: the ranks add up to 1' 1.out
}

@test "Kubernetes' index, with the size and a place to meet: one communicator" {
    export GW_SIZE=2 GW_RENDEZVOUS=ipc://@gradwire-bats-$$-pods
    JOB_COMPLETION_INDEX=1 "$HELLO" >1.out 3>&- &
    JOB_COMPLETION_INDEX=0 "$HELLO" >0.out
    wait $!
    grep -qx 'rank 0 of 2 over shm: the ranks add up to 1' 0.out
    grep -qx 'rank 1 of 2 over shm: the ranks add up to 1' 1.out
}

@test "a Slurm step on one host: the job's number is where they meet" {
    export SLURM_JOB_ID=$$ SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_STEP_NUM_NODES=1
    SLURM_PROCID=1 SLURM_LOCALID=1 "$HELLO" >1.out 3>&- &
    SLURM_PROCID=0 SLURM_LOCALID=0 "$HELLO" >0.out
    wait $!
    grep -qx 'rank 1 of 2 over shm: the ranks add up to 1' 1.out
}

@test "a batch script of Slurm is not a step: ranks are started there" {
    SLURM_JOB_ID=1 SLURM_PROCID=0 SLURM_NTASKS=8 \
        "$COLLRUN" bench allreduce -n 2 --sizes 1K -i 2 -o jsonl >rows.jsonl
    grep -q '"ranks":2' rows.jsonl
}

@test "an incomplete launch environment names the missing variable" {
    RANK=1 run "$COLLRUN" bench allreduce
    echo "$output"
    [ "$status" -eq 64 ]
    [[ $output = *"RANK is 1, but WORLD_SIZE is not set"* ]]
    RANK=1 run "$COLLRUN" run allreduce -n 2 --algo ring --alone
    [ "$status" -eq 0 ]
}

@test "hosts without a key refuse to connect, with a message" {
    GW_RANK=0 GW_SIZE=2 GW_RENDEZVOUS=tcp://192.0.2.1:5000 \
        run "$COLLRUN" bench allreduce --interface 127.0.0.1
    echo "$output"
    [ "$status" -eq 64 ]
    [[ $output = *"open to the network"* ]]
}

@test "--explain-env prints the variable of each field" {
    export OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=4
    export OMPI_COMM_WORLD_LOCAL_SIZE=4 OMPI_MCA_ess_base_jobid=77
    "$COLLRUN" exec --explain-env -o jsonl >place.jsonl
    cat place.jsonl
    grep -q '"field":"size","value":"4","source":"OpenMPI","from":"OMPI_COMM_WORLD_SIZE","detected":"OpenMPI","chosen":"OpenMPI","mode":"static"' place.jsonl
    grep -q '"field":"rendezvous","value":"ipc://@gradwire-' place.jsonl
    "$COLLRUN" bench allreduce --explain-env -o csv >place.csv
    grep -q '^rank,0,OpenMPI,OMPI_COMM_WORLD_RANK' place.csv
    # Neither a command nor its operand is needed.
    for line in "--explain-env" "bench --explain-env" "train --explain-env"; do
        # shellcheck disable=SC2086 # words
        "$COLLRUN" $line -o csv >place.csv
        grep -q '^rank,0,OpenMPI,OMPI_COMM_WORLD_RANK' place.csv
    done
}

@test "collrun exec: a program as ranks, over each wire" {
    for wire in shm ipc tcp; do
        "$COLLRUN" exec -n 3 --wire "$wire" "$HELLO" >out.txt
        sort out.txt
        for rank in 0 1 2; do
            grep -qx "rank $rank of 3 over $wire: the ranks add up to 3" out.txt
        done
        [ "$(wc -l <out.txt)" -eq 3 ]
    done
}

@test "the program runs under both mpiruns, and under collrun exec in them" {
    for kind in openmpi mpich; do
        command -v "mpirun.$kind" >which.txt || continue
        mpi "$kind" 2 "$HELLO" >out.txt
        grep -qx 'rank 1 of 2 over shm: the ranks add up to 1' out.txt
        mpi "$kind" 2 "$COLLRUN" exec --wire ipc "$HELLO" >out.txt
        grep -qx 'rank 1 of 2 over ipc: the ranks add up to 1' out.txt
    done
    [ -e out.txt ] || skip "neither mpirun.openmpi nor mpirun.mpich is installed"
}

@test "exec: options after the program belong to it; rank 0 has the input" {
    "$COLLRUN" exec -n 1 echo -n 5 --help -o json >out.txt
    [ "$(cat out.txt)" = "5 --help -o json" ]
    echo word | "$COLLRUN" exec -n 2 cat >out.txt
    [ "$(cat out.txt)" = word ]
}

# nobody_in GROUP: no process except zombies.
nobody_in() {
    ! pgrep -r R,S,D,T -g "$1" >/dev/null
}

@test "exec: a failing rank is named and sets the status, and no process is left" {
    # shellcheck disable=SC2016 # for the ranks' shell
    run "$COLLRUN" exec -n 3 sh -c \
        'echo $$ >pid.$GW_RANK; test $GW_RANK != 1 || exit 7; sleep 600 & wait'
    echo "$output"
    [ "$status" -eq 7 ]
    [[ $output = *"rank 1 (pid "*") exited with status 7"* ]]
    # shellcheck disable=SC2016
    run "$COLLRUN" exec -n 2 sh -c 'test $GW_RANK != 0 || kill -9 $$; sleep 600'
    [ "$status" -eq 137 ]
    [[ $output = *"rank 0 (pid "*") was killed by signal 9"* ]]
    for file in pid.*; do
        until_true 60 nobody_in "$(cat "$file")"
    done
    run "$COLLRUN" exec -n 2 ./no-such-program
    [ "$status" -eq 64 ]
    [[ $output = *"./no-such-program: No such file"* ]]
}

@test "exec: Ctrl-C ends all ranks and their children" {
    mkfifo tick
    # shellcheck disable=SC2016 # for the ranks' shell
    "$COLLRUN" exec -n 2 sh -c \
        'sleep 600 & echo $$ $! >part.$GW_RANK; mv part.$GW_RANK pid.$GW_RANK; wait' \
        3>&- &
    exec=$!
    started=$exec
    for _ in $(seq 600); do
        [ -e pid.0 ] && [ -e pid.1 ] && break
        read -r -t 0.05 _ <>tick || true
    done
    kill -TERM "$exec"
    ends "$exec"
    [ "$status" -eq 130 ]
    cat pid.0 pid.1 | tr ' ' '\n' >pids
    [ "$(wc -l <pids)" -eq 4 ]
    # shellcheck disable=SC2046 # numbers
    until_true 60 is_over $(cat pids)
}

# Two network namespaces with a cable between them act as two hosts, with two
# ranks each. in_hosts COMMAND...: runs it as four ranks; their output is in
# *.out and *.err.
in_hosts() {
    export GW_SIZE=4 GW_LOCAL_SIZE=2 GW_RENDEZVOUS=tcp://10.99.0.1:5005
    pids=
    for rank in 0 1 2 3; do
        GW_RANK=$rank GW_LOCAL_RANK=$((rank % 2)) timeout 60 \
            ip netns exec "gw$((rank / 2))-$$" "$@" \
            >"$rank.out" 2>"$rank.err" 3>&- &
        pids="$pids $!"
    done
    worst=0
    for pid in $pids; do
        wait "$pid" || worst=$?
    done
    head -n 3 ./*.out ./*.err
}

make_hosts() {
    [ "$(id -u)" -eq 0 ] || skip "network namespaces want root"
    command -v ip >which.txt || skip "iproute2 is not installed"
    ip netns add "gw0-$$" 2>ip.err ||
        skip "no network namespaces here: $(cat ip.err)"
    ip netns add "gw1-$$"
    ip link add "gwa$$" netns "gw0-$$" type veth peer name "gwb$$" \
        netns "gw1-$$"
    ip -n "gw0-$$" addr add 10.99.0.1/24 dev "gwa$$"
    ip -n "gw1-$$" addr add 10.99.0.2/24 dev "gwb$$"
    for end in "gw0-$$ lo" "gw1-$$ lo" "gw0-$$ gwa$$" "gw1-$$ gwb$$"; do
        # shellcheck disable=SC2086 # a namespace and a device
        set -- $end
        ip -n "$1" link set "$2" up
    done
}

remove_hosts() {
    for host in 0 1; do
        ip netns del "gw$host-$$" 2>ip.err || true
    done
}

@test "two hosts: the interface is found, and ranks without a key are refused" {
    make_hosts
    in_hosts "$COLLRUN" bench allreduce --sizes 1K,64K -i 5 -o jsonl
    [ "$worst" -eq 64 ]
    grep -q 'give a key file' 0.err

    (umask 077 && "$BUILD/psnode" key "$PWD/key")
    in_hosts "$COLLRUN" bench allreduce --sizes 1K,64K -i 5 -o jsonl \
        --key "$PWD/key"
    [ "$worst" -eq 0 ]
    [ "$(grep -c '"wrong":0,.*"wire":"tcp","ranks":4,' 0.out)" -eq 2 ]
    [ ! -s 3.out ]

    GW_INSECURE=1 in_hosts "$HELLO"
    [ "$worst" -eq 0 ]
    grep -qx 'rank 3 of 4 over tcp: the ranks add up to 6' 3.out
}

# Rank 0 cannot know the reason for rank 3's absence.
@test "two hosts: a rank that fails before the rendezvous reports it itself" {
    make_hosts
    # shellcheck disable=SC2016 # for the ranks' shell
    in_hosts sh -c 'test "$GW_RANK" != 3 || set -- --interface no-such0; \
        exec "$0" bench allreduce --sizes 1K --insecure --timeout 2s "$@"' \
        "$COLLRUN"
    [ "$worst" -ne 0 ]
    grep -q 'rank 3: .*no-such0' 3.err
}
