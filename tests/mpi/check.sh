#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check.sh BUILD: unmodified MPI programs with their collectives on gradwire, by
# RANKS="2 3 4 8" ranks:
#
#   collectives, semantics, requests, random, same, communicators
#                            the C programs of this folder, both MPIs
#   fortran                  the blocking collectives of Fortran, both MPIs
#   numpy_collectives.py     mpi4py against NumPy, 1 to 8 ranks
#   hpcc                     HPC Challenge: all of its own checks
#   lmp                      LAMMPS, melt.in and salt.in: its output, without and
#                            with the library; numbers differ by 1e-10 at most
#
# It prints a line per program, and their sum. The status is 1 if one has failed. A
# program that is not installed is skipped with a sentence.
set -eu
build=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
ranks=${RANKS:-2 3 4 8}
python=${PYTHON:-/usr/bin/python3}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OPENBLAS_NUM_THREADS=1
passed=0 failed=0

report() {
    printf '%-7s %-8s %2s ranks  %s\n' "$1" "$2" "$3" "$4"
    case $1 in
    passed) passed=$((passed + 1)) ;;
    failed) failed=$((failed + 1)) ;;
    esac
}

# with MPI RANKS PROGRAM...: with the library.
with() {
    mpi=$1 n=$2
    shift 2
    [ "$mpi" = mpich ] || set -- --oversubscribe "$@"
    timeout 600 "$build/gradwire-mpirun" --mpi "$mpi" -n "$n" "$@"
}

# passes MPI RANKS NAME PROGRAM...: the program ends with status 0.
passes() {
    mpi=$1 n=$2 name=$3
    shift 3
    if with "$mpi" "$n" "$@" >out 2>&1; then
        report passed "$mpi" "$n" "$name"
    else
        tail -n 20 out
        report failed "$mpi" "$n" "$name"
    fi
}

compile_fortran() {
    if ! command -v "mpif90.$1" >out; then
        echo "skipped fortran: its compiler for $1 is not installed"
        return
    fi
    "mpif90.$1" -w -O1 -o "fortran.$1" "$here/fortran.f90"
}

c_programs() {
    if [ ! -e "$build/libgradwire-mpi-$1.so" ] || ! command -v "mpicc.$1" >out; then
        echo "skipped $1: its headers are not installed"
        return
    fi
    for program in collectives semantics requests random same communicators; do
        "mpicc.$1" -O1 -w -o "$program.$1" "$here/$program.c" -pthread
    done
    compile_fortran "$1"
    for n in $ranks; do
        [ ! -e "fortran.$1" ] || passes "$1" "$n" fortran "./fortran.$1"
        passes "$1" "$n" collectives "./collectives.$1" 0 1 1000 40000
        passes "$1" "$n" semantics "./semantics.$1"
        passes "$1" "$n" requests "./requests.$1"
        passes "$1" "$n" "500 random calls" "./random.$1" 500 "$n"
        passes "$1" "$n" "same errors and results" "./same.$1" $((n < 4 ? 1 : 5))
        passes "$1" "$n" "200 communicators" "./communicators.$1" 200 20000
        GRADWIRE_MPI_ORDER=rank passes "$1" "$n" "collectives in rank order" \
            "./collectives.$1" 1000
    done
    passes "$1" 2 "1000 communicators, 10^6 calls" "./communicators.$1" 1000 1000000
}

python_programs() {
    if ! "$python" -c "import numpy, mpi4py" 2>out; then
        echo "skipped numpy_collectives: python3-mpi4py is not installed"
        return
    fi
    for n in 1 2 3 4 5 6 7 8; do
        passes openmpi "$n" numpy_collectives "$python" "$here/numpy_collectives.py"
    done
}

# All checks of HPC Challenge: their words, and Success=1 at the end.
hpcc_checks() {
    sed -e 's/^1000 .*Ns/200 Ns/' -e 's/^2 .*Ps$/1 Ps/' -e "s/^2 .*Qs$/$1 Qs/" \
        /usr/share/doc/hpcc/examples/_hpccinf.txt >hpccinf.txt
    rm -f hpccoutf.txt
    with openmpi "$1" hpcc >out 2>&1 && grep -q '^Success=1' hpccoutf.txt &&
        grep -q ' PASSED' hpccoutf.txt && ! grep -qE 'FAILED|[1-9][0-9]* tests.* failed' hpccoutf.txt
}

# The table of a run of LAMMPS.
steps() {
    grep -E '^ +[0-9]+ +[-0-9.]' "$1"
}

# Prints the largest relative difference of two tables.
difference() {
    steps "$1" >one
    steps "$2" >two
    paste one two | awk '{ for (i = 1; i <= NF / 2; i++) {
            d = $i - $(i + NF / 2); d = d < 0 ? -d : d
            s = $i < 0 ? -$i : $i
            if (d / (s + 1e-300) > most) most = d / (s + 1e-300) } }
        END { print most + 0; exit NR == 0 || most > 1e-10 }'
}

lammps() {
    mpirun.openmpi --oversubscribe -n "$2" lmp -in "$here/$1" -log alone >out 2>&1 || return 1
    with openmpi "$2" lmp -in "$here/$1" -log ours >out 2>&1 && most=$(difference alone ours)
}

applications() {
    if ! command -v hpcc >out || ! command -v lmp >out; then
        echo "skipped hpcc and lmp: the packages hpcc and lammps are not installed"
        return
    fi
    for n in $ranks; do
        if hpcc_checks "$n"; then
            report passed openmpi "$n" hpcc
        else
            report failed openmpi "$n" hpcc
        fi
        for input in melt.in salt.in; do
            if lammps $input "$n"; then
                report passed openmpi "$n" "lmp $input, largest difference $most"
            else
                report failed openmpi "$n" "lmp $input, largest difference ${most:-none}"
            fi
        done
    done
}

c_programs openmpi
c_programs mpich
python_programs
applications
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
