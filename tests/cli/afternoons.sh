#!/bin/sh
# SPDX-License-Identifier: MIT
#
# afternoons.sh BIN LABS student|researcher|engineer...: plays the afternoon of a user
# in the present folder, which must be empty. BIN has the tools, LABS the labs and
# programs. $FLAGS are the compiler's flags of the library; by default those of
# pkg-config. $GW_BIN are the tools of the labs, if they do not find them themselves.
# The status is 1 after the first command that fails.
#
# Only the engineer has a program in C. lab_walk.sh goes through every lab in detail.
set -eu

PATH=$1:$PATH
labs=$(realpath "$2")
shift 2
flags=${FLAGS:-$(pkg-config --cflags --libs gradwire)}
pids=

# shellcheck disable=SC2086 # words
leave() {
    [ -z "$pids" ] || kill -KILL $pids 2>/dev/null || true
}
trap leave EXIT
trap 'exit 130' INT TERM

play() {
    echo "+ $*" >&2
    "$@" || {
        echo "it ended with status $?" >&2
        exit 1
    }
}

# await FILE PATTERN: for a minute.
await() {
    tries=0
    until grep -q "$2" "$1" 2>/dev/null; do
        tries=$((tries + 1))
        [ $tries -lt 1200 ] || {
            echo "$1 never has \"$2\":" >&2
            cat "$1" >&2
            exit 1
        }
        sleep 0.05
    done
}

# Guesses, experiments, a starter that fails, a solution that passes.
student() {
    lab=$labs/lab
    for n in 00 01 05 11; do
        play "$lab" start $n
        yes 1 2>/dev/null | play "$lab" predict $n >/dev/null
        play "$lab" run $n
        play "$lab" explain $n >/dev/null
        echo "+ lab check $n, of the starter" >&2
        code=0
        "$lab" check $n >starter || code=$?
        if [ $code != 1 ] || ! grep -q 'look at ' starter; then
            cat starter
            echo "it ended with status $code, not 1" >&2
            exit 1
        fi
        play "$lab" solution $n --take
        play "$lab" check $n
    done
    play "$lab" score
}

# An idea for an all-reduce: each rank exchanges chunks with each other one, in one
# step for each distance.
researcher() {
    cat >mine.plan <<'END'
# Rank i sends chunk i+d to rank i+d, which adds it; then the sums go to all ranks.
allreduce ranks=P chunks=P name=mine
for d in 1..P-1:
    step for i in 0..P-1: i>(i+d)%P c(i+d)%P +
for d in 1..P-1:
    step for i in 0..P-1: i>(i+d)%P c(i)%P =
END
    play collrun verify mine.plan --all
    play collrun run mine.plan -n 4 --values
    play collrun price allreduce -n 8 -b 1M --algo all,mine.plan
    play collrun sim allreduce -t "$labs/topologies/racks.topo" -b 1M \
        --algo all,mine.plan -o jsonl >sim.jsonl
    play collrun bench allreduce -n 2,4 --wire shm,tcp --repeat 3 --sizes 1K,64K -i 20 \
        --algo all,mine.plan -o jsonl >before.jsonl
    play collrun bench allreduce -n 4 --wire shm --sizes 1K,64K -i 20 \
        --algo mine.plan --compare before.jsonl
    for results in sim before; do
        grep -q '"algo":"mine.plan"' $results.jsonl
        if command -v gnuplot >/dev/null; then
            play collrun plot $results.jsonl --svg $results.svg
            grep -q 'mine.plan' $results.svg
        else
            play collrun plot $results.jsonl --script $results.gnuplot
        fi
    done
}

# An own program on ranks, under MPI's launcher, and as an elastic job.
# shellcheck disable=SC2086 # flags are words
engineer() {
    for program in hello elastic; do
        play "${CC:-cc}" -Wall -Wextra -O2 -o $program "$labs/programs/$program.c" $flags
    done
    play collrun exec -n 4 ./hello
    if mpirun --version 2>/dev/null | grep -q 'Open MPI'; then
        play mpirun --allow-run-as-root --oversubscribe -n 4 ./hello
    elif command -v mpirun >/dev/null; then
        play mpirun -n 4 ./hello
    fi
    port=$((20000 + $(od -An -N2 -tu2 /dev/urandom) % 12000))
    GW_CONTROLLERS=tcp://127.0.0.1:$port
    export GW_CONTROLLERS
    psnode controller --index 0 --dir c0 --ring 3 >controller.out 2>&1 &
    pids=$!
    for i in 1 2 3; do
        ./elastic 400 >elastic.$i 2>&1 &
        pids="$pids $!"
        eval member$i=$!
    done
    for i in 1 2 3; do
        await elastic.$i '^joined: '
    done
    # shellcheck disable=SC2154 # set by eval
    kill -KILL "$member2"
    ./elastic 400 >elastic.4 2>&1 &
    pids="$pids $!"
    await elastic.4 '^joined: '
    for i in 1 3 4; do
        await elastic.$i '^done: .*lost 0, doubled 0'
    done
    cat elastic.1
}

for part; do
    "$part"
done
