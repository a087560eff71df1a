#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Records rings in which one member stops for a while, before a call or in the middle
# of one, and asks late.awk or late.py for that member. Sizes, members and times depend on the
# seed.
set -eu
# shellcheck source=/dev/null
. "$LAB_LIB/steps.sh"

late=$(script late)
late=${late##*/}

# judged PART CASE FIRST_US: the member stops FIRST_US after a call begins. A call of N
# members takes 2 N - 2 ms, and there are 10 ms between two of them.
judged() {
    N=$((4 + (SEED + $2) % 4))
    dead=$(((SEED * 5 + $2 * 3) % N))
    at=$((200000 + (2 * N + 8) * 1000 * ($2 % 2) + $3))
    run_tool ringctl sim ring -n "$N" --faults "at ${at}us pause $dead for 30ms" \
        --for 100ms --events "$LAB_OUT/case.jsonl" >/dev/null
    says=$(run_script late "$LAB_OUT/case.jsonl" 2>&1 | tail -n 1)
    asked=$((asked + 1))
    if [ "$says" = "$dead" ]; then
        right=$((right + 1))
    fi
    echo "    ring of $N: $late prints $says, right is $dead"
}

# part NAME FIRST_US
part() {
    asked=0
    right=0
    for case in 1 2 3 4; do
        judged "$1" "$case" "$2"
    done
    note "$1.asked" "$asked"
    note "$1.right" "$right"
    printf '%s\t%s check 25 --seed %s\n' "$1" "$LAB_COMMAND" "$SEED" >>"$LAB_OUT/commands"
}

say "A member stops before a call, for 30 ms:"
part before -1500
say "A member stops in the middle of a call:"
part within 2500
