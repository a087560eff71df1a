# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034,SC2154 # names are shared with labs/lab
#
# The points of a learner or a class: one for each prediction made, right or wrong,
# and those of the facts that held in the best check. Needs learner.sh.

lines_of() {
    if [ -e "$1" ]; then grep -c . "$1" || true; else echo 0; fi
}

# Minutes at work: a pause counts at most a quarter of an hour.
minutes_spent() {
    if [ ! -e "$1" ]; then
        echo 0
        return
    fi
    awk 'NR > 1 { gap = $1 - last; spent += gap < 900 ? gap : 900 }
        { last = $1 }
        END { printf "%.0f\n", spent / 60 }' "$1"
}

# row FOLDER LEARNER: prints the row of one lab, with tabs between learner, lab, title, questions,
# predicted, right, facts, passed, points, of, minutes, verdict, has it run.
row() {
    record=$1/$(number_of "$LAB")/record
    predicted=$(lines_of "$record/predictions")
    right=0 ran=0
    if [ -e "$record/scores" ]; then
        ran=1
        right=$(awk '$5 == 1 { n++ } END { print n + 0 }' "$record/scores")
    fi
    best=/dev/null
    if [ -e "$record/best" ]; then
        best=$record/best
    fi
    awk -v OFS="$tab" -F "$tab" -v lab="$(basename "$LAB")" -v learner="$2" \
        -v title="$(conf "$LAB" title)" -v of="$(conf "$LAB" points)" \
        -v questions="$(questions | grep -c .)" -v predicted="$predicted" \
        -v right="$right" -v ran="$ran" \
        -v minutes="$(minutes_spent "$record/log")" '
        FNR == NR { facts += $0 ~ /^[a-z]/; next }
        { count[$1]++ }
        $1 == "PASS" { points += $2 }
        END {
            verdict = count["FAIL"] ? "FAIL" : count["UNKNOWN"] ? "UNKNOWN" : \
                count["PASS"] ? "PASS" : "-"
            print learner, lab, title, questions, predicted, right, facts, \
                count["PASS"] + 0, points + predicted, of, minutes, verdict, ran
        }' "$LAB/facts" "$best"
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
        for LAB in $(in_order); do
            LAB=$labs/$LAB
            row "$folder" "$learner"
        done
    done
}

# Prints each prediction with its measurement.
gaps() {
    for LAB in $(in_order); do
        LAB=$labs/$LAB
        number=$(number_of "$LAB")
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
