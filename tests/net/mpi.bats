#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Programs of MPI on two hosts of two ranks, with their collectives on gradwire:
# gradwire-mpi(7). The launchers of the MPIs log in to a host by a program like ssh;
# here this program enters the host's namespaces.

load lab.bash

setup_file() {
    lab_environment
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    for mpi in openmpi mpich; do
        if command -v "mpicc.$mpi" >"$BATS_FILE_TMPDIR/which" &&
            [ -e "$BUILD/libgradwire-mpi-$mpi.so" ]; then
            for program in collectives semantics requests; do
                "mpicc.$mpi" -w -O1 -o "$BATS_FILE_TMPDIR/$program.$mpi" \
                    "tests/mpi/$program.c" || return 1
            done
        fi
    done
}

# The files of the cluster must be visible on its hosts, which have their own /run.
setup() {
    export NETLAB_DIR=$BATS_TEST_TMPDIR
    lab_up 2 1
    cat >login <<END
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
host=\$1
shift
exec "$NETLAB_COMMAND" exec "\$host" sh -c "\$*"
END
    chmod +x login
    export GRADWIRE_MPI_TRACE=1
}

teardown() {
    lab_down
}

# on_two_hosts MPI PROGRAM [ARGUMENT...]: 2 ranks on each, in out.txt and trace.txt.
# MPICH 4.0.2 alone hangs in about every fourth MPI_Finalize of several hosts, when the
# programs have printed their results: so it ends after a time, whatever its status.
on_two_hosts() {
    mpi=$1 code=0
    program=$BATS_FILE_TMPDIR/$2.$mpi
    [ -e "$program" ] || skip "$mpi is not installed, with its headers"
    shift 2
    if [ "$mpi" = openmpi ]; then
        set -- --mca plm_rsh_agent "$PWD/login" --host h0:2,h1:2 -n 4 "$program" "$@"
    else
        set -- -launcher ssh -launcher-exec "$PWD/login" -hosts h0:2,h1:2 -n 4 "$program" "$@"
    fi
    timeout 40 "$NETLAB_COMMAND" exec h0 "$BUILD/gradwire-mpirun" --mpi "$mpi" "$@" \
        >out.txt 2>trace.txt </dev/null 3>&- || code=$?
    cat out.txt trace.txt
    [ "$code" -eq 0 ] || [ "$mpi" = mpich ]
}

passes_on_two_hosts() {
    for job in semantics requests "collectives 0 5"; do
        # shellcheck disable=SC2086 # words
        on_two_hosts "$1" $job
        grep -qx "${job%% *}: 4 ranks, 0 failures" out.txt
        grep -qE '^MPI_Allreduce +64 B' trace.txt
    done
    run ! grep -qE '^MPI_[A-Z].* [0-9]+ calls fell' trace.txt # of the last one
}

@test "Open MPI: two hosts of two ranks" {
    passes_on_two_hosts openmpi
}

@test "MPICH: two hosts of two ranks" {
    passes_on_two_hosts mpich
}

@test "without a key the calls fall through, and the trace has the reason" {
    unset GRADWIRE_KEY
    on_two_hosts openmpi semantics
    grep -qx 'semantics: 4 ranks, 0 failures' out.txt
    grep -q 'give a key file' trace.txt
    grep -q '^MPI_Allreduce .* fell through' trace.txt
}
