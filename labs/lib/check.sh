# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034,SC2154 # names are shared with labs/lab
#
# Checks the learner's files: check.sh of the lab tries them with the real tools,
# and `facts` has the conditions that must hold. Needs learner.sh.

# check_once SEED [BRIEF]: returns the verdict as its status.
check_once() {
    SEED=$1
    out=$record/check
    if [ -n "${2:-}" ]; then
        run_steps check.sh "$out" >/dev/null 2>&1
    else
        run_steps check.sh "$out"
    fi
    awk -v values="$out/values" -f "$LAB_LIB/expr.awk" -f "$LAB_LIB/facts.awk" \
        "$LAB/facts" >"$out/verdicts" || return 65
    verdict=0
    awk -v commands="$out/commands" -v brief="${2:-}" -v colour="$colour" \
        -f "$LAB_LIB/text.awk" -f "$LAB_LIB/verdicts.awk" "$out/verdicts" \
        >"$out/verdict.txt" || verdict=$?
    keep_best
    return "$verdict"
}

points_of() {
    awk -F "$tab" '$1 == "PASS" { points += $2 } END { print points + 0 }' "$1"
}

keep_best() {
    if [ -e "$record/best" ] &&
        [ "$(points_of "$out/verdicts")" -lt "$(points_of "$record/best")" ]
    then
        return
    fi
    cp "$out/verdicts" "$record/best.new"
    mv "$record/best.new" "$record/best"
}

# check [-n SEEDS] [--seed SEED]
check() {
    need_start
    seeds=
    seed=$(conf "$LAB" seed)
    while [ $# != 0 ]; do
        [ $# -ge 2 ] || fail 64 "check: use -n SEEDS or --seed SEED"
        case $2 in
        '' | *[!0-9]* | 0) fail 64 "check: $1 $2: must be a number of at least 1" ;;
        esac
        case $1 in
        -n) seeds=$2 ;;
        --seed) seed=$2 ;;
        *) fail 64 "check: unknown option $1; use -n SEEDS or --seed SEED" ;;
        esac
        shift 2
    done
    hold
    log check
    if [ -n "$seeds" ]; then
        check_seeds "$seeds"
    fi
    code=0
    check_once "$seed" || code=$?
    [ "$code" != 65 ] || exit 65
    cat "$record/check/verdict.txt"
    if [ "$code" = 0 ]; then
        echo "Lab $number is done. Its limits: section Limits in" \
            "$(near "$(page)")"
    else
        echo "Stuck? $me hint $number"
    fi
    exit "$code"
}

# Checks with each seed; the worst verdict is the result.
check_seeds() {
    worst=0 failing='' first=
    for seed in $(seq "$1"); do
        code=0
        check_once "$seed" brief || code=$?
        printf 'seed %-4s %s\n' "$seed" "$(tail -n 1 "$record/check/verdict.txt")"
        sed '$d' "$record/check/verdict.txt"
        if [ "$code" != 0 ]; then
            failing="$failing $seed"
            first=${first:-$seed}
        fi
        case $code in
        0) ;;
        2) [ "$worst" != 0 ] || worst=2 ;;
        *) worst=$code ;;
        esac
    done
    if [ "$worst" = 0 ]; then
        echo "all $1 seeds pass"
    else
        echo "failing seeds:$failing" | fold -s -w 78
        echo "repeat one: $me check $number --seed $first"
    fi
    exit "$worst"
}

# Prints checksums of the learner's files.
state_of_files() {
    find "$LAB_DIR" -path "$record" -prune -o -type f -exec cksum {} + | sort
}

# watch: checks each time a file is saved, until Ctrl-C.
watch() {
    need_start
    before=
    while :; do
        now=$(state_of_files)
        if [ "$now" != "$before" ]; then
            before=$now
            ("$labs/lab" check "$number") || true
            printf '\nWaiting for a change in %s; press Ctrl-C to end.\n' "$LAB_DIR"
        fi
        sleep 1
    done
}
