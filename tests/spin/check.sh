#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check.sh [BUILD]: explores every schedule of the ring's protocol, and of calls
# over shared memory, in small worlds, with Spin (ring.pml and window_calls.pml
# describe the models and assertions). Prints one line per world: its name, the
# number of states, the result. Correct worlds must be searched completely
# without an error, except the largest, which is searched for SECONDS_MOST
# (120). Worlds with a deliberate error must be refuted. SPIN is the program.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
work=${1:-$here/../../build}/spin
spin=${SPIN:-spin}
bad=0

if ! command -v "$spin" >/dev/null; then
    echo "check-model: skipped, there is no spin (apt-get install spin)"
    exit 0
fi
rm -rf "$work"
mkdir -p "$work"
cp "$here"/*.pml "$here"/*.h "$work"
cd "$work"

# Searches a world; the output of Spin is in the file `found`.
search() { # sizes of the world | how to search | arguments | what runs it
    # shellcheck disable=SC2086 # flags are words
    "$spin" -a $1 "$model" >/dev/null &&
        cc -O2 -w -DSAFETY $reduce -DMEMLIM=6000 $2 $1 -o pan pan.c &&
        ${4:-} ./pan -m100000 $3 >found
}

states() {
    sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' found
}

print_result() { # name | verdict
    printf '%-44s %12s states  %s\n' "$1" "$(states)" "$2"
}

# A correct world.
holds() { # name | sizes | how | arguments
    search "$2" "$3" "$4"
    if grep -q 'errors: 0' found && ! grep -q 'Search not completed' found; then
        print_result "$1" "every promise holds"
    else
        print_result "$1" "FAILED: $(grep '^pan:1' found)"
        bad=1
    fi
}

# A correct world that is too large for a complete search.
stands() { # name | sizes
    search "$2" -DBITSTATE -w31 "timeout -s INT ${SECONDS_MOST:-120}" || true
    if grep -q 'errors: 0' found; then
        print_result "$1" "seen in part, every promise holds"
    else
        print_result "$1" "FAILED: $(grep '^pan:1' found)"
        bad=1
    fi
}

# A wrong world, and the error text that refutes it.
refuted() { # name | sizes | sentence
    search "$2" -DCOLLAPSE -w22 || true
    if grep -q "$3" found; then
        print_result "$1" "refuted: $3"
    else
        print_result "$1" "FAILED: nothing was found"
        bad=1
    fi
}

model=ring.pml
reduce=-DNOREDUCE # Spin does not see which moves of embedded C are alike
two='-DLOSSES=2'
holds "3 members, 2 losses" "-DJOINERS=0 $two" -DCOLLAPSE -w22
holds "3 members, 1 loss, 2 chunks" "-DJOINERS=0 -DLOSSES=1 -DCHUNKS=2" \
    -DCOLLAPSE -w22
holds "2 members and a joiner, 2 losses, 3 ops" "-DMEMBERS=2 -DOPS=3 $two" \
    -DCOLLAPSE -w22
holds "2 members, a joiner, an order, 2 losses, 3 ops" \
    "-DMEMBERS=2 -DOPS=3 -DORDERS=1 $two" -DCOLLAPSE -w22
holds "3 members, 2 orders, 1 loss, 3 ops" \
    "-DJOINERS=0 -DLOSSES=1 -DORDERS=2 -DOPS=3" -DCOLLAPSE -w22
holds "3 members and a joiner, 1 loss" "-DLOSSES=1" -DCOLLAPSE -w22
holds "3 members and a joiner, 2 losses" "$two" -DHC4 -w26
stands "4 members and a joiner, 2 losses" "-DMEMBERS=4 $two"
refuted "any epoch is accepted" "-DJOINERS=0 $two -DANY_EPOCH" \
    "a final sum of others"
refuted "finals are ignored" "-DJOINERS=0 -DLOSSES=1 -DNEVER_FORWARD" \
    "a result that was used is taken back"
refuted "a joiner is never sure" "-DLOSSES=1 -DNEVER_CONFIRMED" \
    "somebody waits for ever"

refuted "another order counts from any op on" \
    "-DJOINERS=0 -DLOSSES=1 -DORDERS=1 -DANY_OP" "somebody waits for ever"

model=window_calls.pml
reduce=''
holds "2 ranks, 4 calls over shared memory" "-DRANKS=2 -DTURNS=4" \
    -DCOLLAPSE -w24
holds "3 ranks, 3 calls" "-DRANKS=3 -DTURNS=3" -DCOLLAPSE -w25
holds "2 ranks, 5 calls, 4 slots, left is reported late" \
    "-DRANKS=2 -DTURNS=5 -DSLOTS=4 -DNO_OPEN" -DCOLLAPSE -w25
refuted "only the slot has the progress of a rank" \
    "-DRANKS=2 -DTURNS=4 -DSLOT_ALONE" "invalid end state"
refuted "left is reported before it was read" "-DLEFT_FIRST" "assertion violated"
refuted "slots are used before they are free" "-DNEVER_WAITS" "assertion violated"
exit $bad
