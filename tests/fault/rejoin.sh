#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Members that are paused until they are declared dead, and resumed: each must
# be a member again within 10 s. Real processes: a ring, parameter servers that
# train, and idle ones, each with three controllers. Every run is used for many
# tries. The seed determines the paused members, the time beyond their
# declaration, and whether one or two are paused.
#
#   tests/fault/rejoin.sh [TRIES [SEED]]     make check-rejoin N=TRIES
#
#   SETS=1   runs of each sort, side by side     KEEP=DIR  of failures' folders
#
#   node, worker, server   one of them
#   two                    two at once
#   joiner                 one that is paused again while it joins
#
# Prints progress, and a table: kind, tries, failures, the longest time in ms
# from the signal until it was a member again. After a failure the run's folder,
# with the state of all parties, is kept in KEEP, and a new run replaces it.
# Status 1: some have not come back.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$(realpath "${B:-build}")
tries=${1:-20}
seed=${2:-1}
keep=${KEEP:-${TMPDIR:-/tmp}/rejoin}
limit=10
lanes=()
for ((set = 0; set < ${SETS:-1}; set++)); do
    lanes+=("ring$set" "train$set" "idle$set")
done

work=$(mktemp -d)
export GRADWIRE_RUNS=$work/runs GRADWIRE_DATA=$work LC_ALL=C.UTF-8
: >"$work/results"
jobs=()
finish() {
    [ ${#jobs[@]} -eq 0 ] || kill "${jobs[@]}" 2>/dev/null
    for lane in "${lanes[@]}"; do
        ctl "$lane" down >/dev/null 2>&1
    done
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' HUP INT PIPE TERM

ctl() { # LANE ARGUMENT...
    "$build/ringctl" --run "$1" --timeout ${limit}s "${@:2}"
}

rows() { # two classes that a line parts
    awk 'BEGIN {
        srand(1)
        for (i = 0; i < 600; i++) {
            x = 2 * rand() - 1
            y = 2 * rand() - 1
            print (x + y > 0 ? 1 : -1), "1:" x, "2:" y
        }
    }' >"$work/rows.libsvm"
}

# up LANE: its run; sets `members`, as status counts them, and their names.
up() {
    local how
    case $1 in
    ring*)
        how='4 ops --bytes 4K --pace 5ms'
        members=(0 1 2 3)
        ;;
    train*)
        how='--servers 3 --workers 3 --slots 6 --mode ssp:2 --pace 2ms
            train lr rows.libsvm --batch 30 --parts 4 --epochs 1000000'
        members=(s0 s1 s2 w0 w1 w2)
        ;;
    idle*)
        how='--servers 3 --workers 3 --slots 6'
        members=(s0 s1 s2 w0 w1 w2)
        ;;
    esac
    # shellcheck disable=SC2086
    "$build/ringctl" --timeout 60s --seed "$seed" up --name "$1" \
        --controllers 3 $how >/dev/null 2>"$log" || {
        cat "$log"
        exit 1
    }
}

kind_of() {
    case $1 in
    s*) echo server ;;
    w*) echo worker ;;
    *) echo node ;;
    esac
}

# Sleeps for up to a second, and a quarter of the time not at all.
nap() {
    [ $((RANDOM % 4)) -eq 0 ] || sleep "0.$(printf %03d $((RANDOM % 1000)))"
}

# disturb LANE: sets `kind` and `chosen`; these members are then paused and
# declared dead.
disturb() {
    local count=${#members[@]} first=$((RANDOM % ${#members[@]})) second
    chosen=("${members[first]}")
    kind=$(kind_of "${chosen[0]}")
    case $((RANDOM % 8)) in
    0)
        second=$(((first + 1 + RANDOM % (count - 1)) % count))
        chosen+=("${members[second]}")
        kind=two
        ;;
    1) kind=joiner ;;
    esac
    local script=""
    for member in "${chosen[@]}"; do
        script+="pause $member;"
    done
    ctl "$1" -c "$script wait alive<=$((count - ${#chosen[@]}))" >>"$log" 2>&1
}

# restore LANE: resumes them, and waits until all are members again.
restore() {
    local script="" whole="wait alive==${#members[@]}"
    [[ $1 = ring* ]] || whole+="; wait replicas==3"
    for member in "${chosen[@]}"; do
        script+="resume $member;"
    done
    if [ "$kind" = joiner ]; then
        ctl "$1" -c "$script" >>"$log" 2>&1 || return 1
        sleep "0.$(printf %03d $((RANDOM % 300)))"
        ctl "$1" -c "pause ${chosen[0]}" >>"$log" 2>&1 || return 1
        nap
    fi
    began=$(date +%s%N)
    ctl "$1" -c "$script $whole" >>"$log" 2>&1
}

save() { # LANE
    mkdir -p "$keep"
    local place
    place=$(mktemp -d "$keep/$1.XXXXXX")
    ctl "$1" status >"$place/status" 2>&1
    cp -r "$GRADWIRE_RUNS/$1/." "$place"
    cp "$log" "$place/commands"
    echo "$kind ${chosen[*]}: not back after $limit s; see $place"
}

lane() { # LANE TRIES
    local log=$work/$1.log i code began kind members chosen
    up "$1"
    for ((i = 1; i <= $2; i++)); do
        disturb "$1" && nap && restore "$1"
        code=$?
        echo "$kind $code $((($(date +%s%N) - ${began:-0}) / 1000000))" \
            >>"$work/results"
        if [ $code -ne 0 ]; then
            save "$1"
            ctl "$1" down >/dev/null 2>&1
            up "$1"
        elif [ $((i % 100)) -eq 0 ]; then
            : >"$log"
            echo "$1: $i of $2, seed $seed: $(grep -vc ' 0 ' "$work/results") failures"
        fi
    done
}

rows
for l in "${!lanes[@]}"; do
    (
        trap 'exit 130' TERM
        RANDOM=$((seed * 64 + l))
        lane "${lanes[l]}" $(((tries + l) / ${#lanes[@]}))
    ) &
    jobs+=($!)
done
wait "${jobs[@]}"
jobs=()

echo "seed $seed"
awk 'BEGIN { printf "%-8s %6s %9s %8s\n", "what", "tries", "failures", "longest" }
    {
        tries[$1]++
        failures[$1] += $2 != 0
        all += $2 != 0
        if ($2 == 0 && $3 > longest[$1])
            longest[$1] = $3
    }
    END {
        for (w in tries)
            printf "%-8s %6d %9d %5d ms\n", w, tries[w], failures[w], longest[w]
        exit all > 0
    }' "$work/results"
