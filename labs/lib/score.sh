# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034,SC2154 # names are shared with labs/lab
#
# The points of a learner or a class: one for each prediction made, right or wrong,
# and those of the facts that held in the best check. Needs learner.sh.

lines_of() {
    if [ -e "$1" ]; then grep -c . "$1" || true; else echo 0; fi
}

# rows_of FOLDER LEARNER [OPTION...]: a row for every lab, in order (rows.awk).
rows_of() {
    folder=$1 learner=$2
    shift 2
    in_order | awk -v labs="$labs" -v folder="$folder" -v learner="$learner" "$@" \
        -f "$LAB_LIB/rows.awk"
}

# rows DIR...: prints the rows of every lab, for every learner's folder. A folder may
# also be the one that contains lab-work.
rows() {
    for folder; do
        [ -d "$folder" ] || fail 65 "score: no folder \"$folder\""
        learner=$(basename "$(cd "$folder" && pwd)")
        if [ -d "$folder/lab-work" ]; then
            folder=$folder/lab-work
        elif [ "$learner" = lab-work ]; then
            learner=$(basename "$(cd "$folder/.." && pwd)")
        fi
        rows_of "$folder" "$learner"
    done
}

# Prints each prediction with its measurement.
gaps() {
    for LAB in $(in_order); do
        number=${LAB%%-*}
        scores=$1/$number/record/scores
        if [ -e "$scores" ]; then
            awk -v lab="$number" '{
                printf "  %s  %-20s predicted %14s  measured %14s\n", \
                    lab, $1, $2, $3 }' "$scores"
        fi
    done
}

# score [-v] [--csv] [DIR...]
score() {
    csv='' verbose=''
    while :; do
        case ${1:-} in
        --csv) csv=1 ;;
        -v) verbose=1 ;;
        -*) fail 64 "score: unknown option $1; use -v or --csv" ;;
        *) break ;;
        esac
        shift
    done
    if [ $# = 0 ]; then
        mkdir -p "$work"
        set -- "$work"
    fi
    table=$(rows "$@") || exit $?
    printf '%s\n' "$table" |
        awk -v csv="$csv" -v many="$(($# > 1))" -v me="$me" \
            -f "$LAB_LIB/score.awk"
    if [ -n "$verbose" ] && [ -z "$csv" ]; then
        for folder; do
            [ ! -d "$folder/lab-work" ] || folder=$folder/lab-work
            gaps "$folder"
        done
    fi
}
