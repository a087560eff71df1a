#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Programs of MPI with their collectives on gradwire, two ranks: gradwire-mpi(7).
# Each test skips where its MPI is not installed. `make check-mpi-programs` has more
# ranks, sizes and programs.

setup_file() {
    bats_require_minimum_version 1.5.0
    cd "$BATS_TEST_DIRNAME/../.." || return 1
    BUILD=$(realpath "${B:-build}")
    export BUILD OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    for name in $(env | sed -n 's/^\(GW_[A-Z_]*\|GRADWIRE_MPI[A-Z_]*\|PMI_[A-Z]*\|OMPI_COMM[A-Z_]*\)=.*/\1/p'); do
        unset "$name"
    done
    for mpi in openmpi mpich; do
        if command -v "mpicc.$mpi" >"$BATS_FILE_TMPDIR/which" &&
            [ -e "$BUILD/libgradwire-mpi-$mpi.so" ]; then
            for program in collectives semantics requests random same communicators; do
                "mpicc.$mpi" -Wall -Wextra -Wno-stringop-overflow -Wno-stringop-overread -O1 -o "$BATS_FILE_TMPDIR/$program.$mpi" \
                    "tests/mpi/$program.c" -pthread || return 1
            done
        fi
    done
}

setup() {
    [ -z "${SAN:-}" ] || skip "sanitizers want to be linked into the program"
    cd "$BATS_TEST_TMPDIR" || return 1
}

# with MPI RANKS PROGRAM [ARGUMENT...]
with() {
    program=$BATS_FILE_TMPDIR/$3.$1
    [ -e "$program" ] || skip "$1 is not installed, with its headers"
    ranks=$2 mpi=$1
    shift 3
    set -- "$program" "$@"
    [ "$mpi" = mpich ] || set -- --oversubscribe "$@"
    TMPDIR=$BATS_TEST_TMPDIR timeout 100 "$BUILD/gradwire-mpirun" --mpi "$mpi" -n "$ranks" "$@"
}

# taken MPI: every collective is taken in all its forms, and none of them falls
# through on the communicator of all ranks.
taken() {
    export GRADWIRE_MPI_TRACE=1
    with "$1" 2 collectives 0 5 1001 >out.txt 2>trace.txt
    cat out.txt trace.txt
    grep -qx 'collectives: 2 ranks, 0 failures' out.txt
    [ "$(grep -cE '^MPI_[A-Z].* [0-9]+ calls fell' trace.txt)" -eq 0 ]
    for name in Bcast Reduce Allreduce Gather Gatherv Scatter Scatterv Allgather \
        Allgatherv Alltoall Alltoallv Reduce_scatter Reduce_scatter_block Scan Exscan; do
        grep -qE "^MPI_$name +(64 B|16 KiB) " trace.txt
    done
}

@test "Open MPI: every collective, type and operation is taken and right" {
    taken openmpi
}

@test "MPICH: every collective, type and operation is taken and right" {
    taken mpich
}

obeys() {
    for name in semantics requests random same communicators; do
        case $name in
        same) arguments=11 ;;
        random) arguments=40 ;;
        *) arguments= ;;
        esac
        # shellcheck disable=SC2086 # none or one
        with "$1" 2 "$name" $arguments >out.txt 2>err.txt
        cat out.txt err.txt
        grep -qx "$name: 2 ranks, 0 failures" out.txt
    done
}

@test "Open MPI: its rules hold" {
    obeys openmpi
}

@test "MPICH: its rules hold" {
    obeys mpich
}

@test "blocking collectives of Fortran are taken and right" {
    export GRADWIRE_MPI_TRACE=1
    tried=0
    for mpi in openmpi mpich; do
        if command -v "mpif90.$mpi" >which.txt && [ -e "$BUILD/libgradwire-mpi-$mpi.so" ]; then
            "mpif90.$mpi" -w -O0 -o "$BATS_FILE_TMPDIR/fortran.$mpi" \
                "$BATS_TEST_DIRNAME/../mpi/fortran.f90"
            with "$mpi" 2 fortran >out.txt 2>trace.txt
            cat out.txt trace.txt
            grep -qx 'fortran: 2 ranks, 0 failures' out.txt
            [ "$(grep -cE '^MPI_[A-Z].* 64 B +[0-9]+ +[1-9]' trace.txt)" -eq 16 ]
            tried=1
        fi
    done
    [ "$tried" = 1 ] || skip "no MPI is installed, with its compiler of Fortran"
}

@test "GRADWIRE_MPI_ORDER=rank is right, and GRADWIRE_MPI=0 takes no call" {
    export GRADWIRE_MPI_TRACE=1
    GRADWIRE_MPI_ORDER=rank with openmpi 2 collectives 5 >out.txt 2>trace.txt
    grep -qx 'collectives: 2 ranks, 0 failures' out.txt
    grep -qE '^MPI_Allreduce +64 B +[0-9]+ +[1-9][0-9.]*%' trace.txt
    GRADWIRE_MPI=0 with openmpi 2 collectives 5 >out.txt 2>trace.txt
    grep -qx 'collectives: 2 ranks, 0 failures' out.txt
    grep -qE '^MPI_Allreduce +64 B +[0-9]+ +0\.0% +- +-' trace.txt
    run -1 grep -E '^MPI_Allreduce .* [1-9][0-9.]*% ' trace.txt
    grep -q '^MPI_Allreduce .* fell through' trace.txt
}

@test "collrun exec --mpi finds the MPI of the program" {
    for mpi in openmpi mpich; do
        program=$BATS_FILE_TMPDIR/semantics.$mpi
        if [ -e "$program" ]; then
            timeout 100 "$BUILD/collrun" exec -n 2 --mpi "$program" >out.txt 2>err.txt
            cat out.txt err.txt
            grep -qx 'semantics: 2 ranks, 0 failures' out.txt
        fi
    done
}

@test "collrun tune measures what a traced program has called" {
    export GRADWIRE_MPI_TRACE=events
    with openmpi 2 requests >out.txt 2>trace.txt
    sort gradwire-mpi.*.jsonl >all.jsonl
    "$BUILD/collrun" tune --from all.jsonl --seconds 1ms --dry-run -o jsonl >rows.txt
    for op in broadcast allreduce gather allgather alltoall scan; do
        grep -q "\"op\":\"$op\",\"ranks\":2" rows.txt
    done
}

@test "ranks that call different collectives, or end, are an error that names both" {
    for mpi in openmpi mpich; do
        [ -e "$BATS_FILE_TMPDIR/semantics.$mpi" ] || skip "$mpi is not installed"
    done
    cat >differ.c <<'END'
#include <mpi.h>
int main(int argc, char **argv)
{
    int rank, in = 1, out;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && argc == 1)
        MPI_Barrier(MPI_COMM_WORLD);
    else if (rank == 1)
        MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
END
    mpicc.openmpi -o "$BATS_FILE_TMPDIR/differ.openmpi" differ.c
    run with openmpi 2 differ
    echo "$output"
    [ "$status" -ne 0 ]
    [[ $output = *"rank 0"*"barrier()"* ]]
    [[ $output = *"rank 1"*"allreduce(1 i32, sum"* ]]
    run with openmpi 2 differ ends # rank 0 is in MPI_Finalize
    echo "$output"
    [ "$status" -ne 0 ]
    [[ $output = *"rank 0"*"barrier()"* ]]
    [[ $output = *"rank 1"*"allreduce(1 i32, sum"* ]]
}

@test "MPI_Abort ends with its status, and a rank that dies is named" {
    command -v mpicc.openmpi >which.txt || skip "openmpi is not installed, with its headers"
    cat >ends.c <<'END'
#include <mpi.h>
#include <signal.h>
int main(int argc, char **argv)
{
    int rank, in = 1, out;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1 && argc > 1)
        raise(SIGKILL);
    if (rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
END
    mpicc.openmpi -o "$BATS_FILE_TMPDIR/ends.openmpi" ends.c
    run with openmpi 2 ends
    [ "$status" -eq 3 ]
    run with openmpi 2 ends killed
    echo "$output"
    [ "$status" -ne 0 ]
    [[ $output = *"MPI_Allreduce: "*"rank 1"*"died"* || $output = *"signal 9"* ]]
}

@test "a wrong option of gradwire-mpirun, and a missing program, are errors" {
    [ -e "$BUILD/gradwire-mpirun" ] || skip "no MPI is installed, with its headers"
    run -64 "$BUILD/gradwire-mpirun"
    run -64 "$BUILD/gradwire-mpirun" --mpi lam ./program
    [[ $output = *"must be openmpi or mpich"* ]]
}
