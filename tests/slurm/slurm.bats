#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Under a real Slurm: slurmctld on one host and a slurmd on each of three others
# (labs/cluster/netlab), each with its own munged, as on a real site. srun
# starts ranks that find each other. An allocation that continues without a node
# (-k) loses one, and its processes continue, too, helped by a second step.

load ../net/lab.bash

started=()
code=

NEEDS="slurmctld slurmd munged srun ip tc nsenter"

setup_file() {
    lab_environment
    # shellcheck disable=SC2086 # words
    [ -z "$(lab_lacks $NEEDS)" ] || return 0
    cd "$BATS_FILE_TMPDIR" || return 1
    netlab up 2 2
    GRADWIRE_KEY=$PWD/key
    SLURM_CONF=$PWD/slurm.conf
    export GRADWIRE_KEY SLURM_CONF
    "$BUILD/psnode" key "$GRADWIRE_KEY" >key.txt
    configure
    for host in h0 h1 h2 h3; do
        daemon "munged.$host" $host sh -c "mkdir -m 755 /run/munge
            exec munged --foreground --force --key-file '$PWD/munge.key' \
            --pid-file /run/munge/pid --log-file '$PWD/munged.$host.log' \
            --seed-file /run/munge/seed"
    done
    for host in h0 h1 h2 h3; do
        until_true 20 netlab exec $host test -S /run/munge/munge.socket.2
    done
    daemon slurmctld h0 slurmctld -D
    for host in h1 h2 h3; do
        daemon "slurmd.$host" $host slurmd -D -N $host
    done
    until_true 60 nodes_are idle 3
}

teardown_file() {
    netlab down
}

setup() {
    # shellcheck disable=SC2086
    lab_needs $NEEDS
    cd "$BATS_TEST_TMPDIR" || return 1
}

# daemon NAME HOST COMMAND...: runs until the host ends.
daemon() {
    "$NETLAB_COMMAND" exec "${@:2}" >"$1.out" 2>&1 </dev/null 3>&- &
}

# More CPUs than there are, since a rank is a task.
configure() {
    (umask 077 && head -c 32 /dev/urandom >munge.key)
    cat >slurm.conf <<END
ClusterName=lab
SlurmctldHost=h0($(address h0))
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
MpiDefault=none
ReturnToService=2
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
StateSaveLocation=/run/slurmctld
SlurmdSpoolDir=/run/slurmd
SlurmctldLogFile=$PWD/slurmctld.log
SlurmdLogFile=$PWD/slurmd.%h.log
NodeName=h1 NodeAddr=$(address h1) CPUs=16 State=UNKNOWN
NodeName=h2 NodeAddr=$(address h2) CPUs=16 State=UNKNOWN
NodeName=h3 NodeAddr=$(address h3) CPUs=16 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
}

# here COMMAND...: runs on the host from which jobs are started.
here() {
    timeout 120 "$NETLAB_COMMAND" exec h0 "$@" </dev/null 3>&-
}

nodes_are() {
    [ "$(here sinfo -h -t "$1" -o %D)" = "$2" ]
}

@test "srun -n 8 collrun bench allreduce: ranks on three hosts" {
    here srun -N 3 -n 8 "$BUILD/collrun" bench allreduce --sizes 1K,64K -i 5 \
        -o jsonl >rows.jsonl
    cat rows.jsonl
    [ "$(grep -c '"wrong":0,.*"wire":"tcp","ranks":8,' rows.jsonl)" -eq 2 ]
}

@test "srun on one host: shared memory, and two steps at a time do not meet" {
    here salloc --no-shell -N 1 -n 8 2>salloc.txt
    job=$(sed -n 's/.*job allocation \([0-9]*\).*/\1/p' salloc.txt | head -n 1)
    for step in a b; do
        here srun --jobid "$job" --overlap -N 1 -n 4 "$BUILD/collrun" bench \
            allreduce --sizes 1K -i 50 -o jsonl >$step.jsonl &
    done
    wait
    here scancel "$job"
    for step in a b; do
        grep -q '"wrong":0,.*"wire":"shm","ranks":4,' $step.jsonl
    done
}

@test "the output of --explain-env comes from the step" {
    here srun -N 3 -n 3 "$BUILD/collrun" exec --explain-env -o csv >place.csv
    cat place.csv
    grep -q '^size,3,Slurm,SLURM_STEP_NUM_TASKS' place.csv
    grep -q '^rendezvous,tcp://h1:[0-9]*,Slurm,' place.csv
    # Of rank 0, which alone prints; a name may stand for either version of IP.
    grep -q "^interface,$(address h1)," place.csv ||
        grep -q "^interface,$(address h1 6)," place.csv
}

@test "srun starts ranks in Python, which find each other over the hosts" {
    /usr/bin/python3 -c 'import numpy' 2>/dev/null || skip "NumPy is not installed"
    root=$(realpath "$BATS_TEST_DIRNAME/../..")
    here env PYTHONPATH="$root/lib/python" GRADWIRE_LIBRARY="$BUILD/libgradwire.so" \
        PYTHONDONTWRITEBYTECODE=1 \
        srun -N 3 -n 4 /usr/bin/python3 "$root/tests/python/programs/hello.py" >hello.txt
    sort hello.txt
    [ "$(sort hello.txt | tr '\n' ' ')" = \
        "rank 0 of 4: 6 rank 1 of 4: 6 rank 2 of 4: 6 rank 3 of 4: 6 " ]
}

# step NAME OPTION... COMMAND: a step of the allocation that continues after any
# loss of nodes (-k) and tasks (-K0).
step() {
    timeout 120 "$NETLAB_COMMAND" exec h0 srun --jobid "$job" --overlap \
        -k -K0 "${@:2}" >"$1.out" 2>"$1.err" </dev/null 3>&- &
    started+=($!)
}

reached() {
    grep -q "\"epoch\":$1," workers.out
}

are_ready() {
    [ "$(grep -c 'is ready' "$2")" -eq "$1" ]
}

@test "srun -k -K0: a node dies, the job goes on, and a second step joins it" {
    controllers=tcp://h0:7100
    daemon c h0 "$BUILD/psnode" controller --index 0 --peers $controllers \
        --dir "$PWD/c0" --servers 3 --key "$GRADWIRE_KEY"
    here salloc -k --no-shell -N 3 -n 12 2>salloc.txt
    job=$(sed -n 's/.*job allocation \([0-9]*\).*/\1/p' salloc.txt | head -n 1)
    psnode="$BUILD/psnode"
    learn="train drift --parts 2 --epochs 40 --set rows=2000"
    # shellcheck disable=SC2086 # words
    "$psnode" $learn --servers 1 --workers 2 -o json >alone.json

    step servers -N 3 -n 3 "$psnode" server --join $controllers \
        --key "$GRADWIRE_KEY"
    until_true 30 are_ready 3 servers.out
    # A step that comes and goes: on SIGTERM it hands its slots over. Without
    # --ctld scancel asks all nodes of the job itself, and prints errors for
    # those without the step.
    step passes -N 1 -w h1 -n 1 "$psnode" server --join $controllers \
        --key "$GRADWIRE_KEY"
    passing=${started[-1]}
    until_true 30 are_ready 1 passes.out
    here scancel --ctld --signal=TERM "$job.1"
    ends "$passing"
    cat passes.err
    [ "$code" -eq 0 ]
    run ! grep -q 'psnode:' passes.err

    # shellcheck disable=SC2086
    step workers -N 2 -w h1,h2 -n 2 "$psnode" worker --join $controllers \
        --key "$GRADWIRE_KEY" --workers 2 $learn -o jsonl
    worker_step=${started[-1]}
    until_true 60 reached 2

    netlab kill h3
    here scontrol update nodename=h3 state=down reason=dead
    step joins -N 1 -w h2 -n 1 "$psnode" server --join $controllers \
        --key "$GRADWIRE_KEY"
    until_true 60 are_ready 1 joins.out
    ends "$worker_step"
    cat workers.err
    [ "$code" -eq 0 ]
    want=$(sed -n 's/.*"digest":"\([0-9a-f]*\)".*/\1/p' alone.json)
    [ ${#want} -eq 16 ]
    [ "$(grep -c "\"digest\":\"$want\"" workers.out)" -eq 2 ]
    [ "$(here squeue -h -j "$job" -o %T)" = RUNNING ]

    # Slurm's own way to ask a step to end; it hands its slots over.
    here scancel "$job"
}
