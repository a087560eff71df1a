# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034,SC2154 # names are shared with labs/lab
#
# Predictions come before the run, because a demonstration alone teaches little.
# Needs learner.sh.

questions() {
    awk -f "$LAB_LIB/questions.awk" "$LAB/predict.txt"
}

# answer TEXT UNIT: prints the value of the text, or its mistake. The unit may
# follow, also in the singular: "1 message". The file parameters has the names.
answer() {
    bare=${1%"$2"}
    case $2 in
    ????*s) bare=${bare%"${2%s}"} ;;
    esac
    FORMULA=$bare awk -v values="$record/parameters" \
        -f "$LAB_LIB/expr.awk" -f "$LAB_LIB/calc.awk" </dev/null
}

# ask ID QUESTION UNIT: asks until the answer is a number; sets $answered.
ask() {
    id=$1 unit=$3
    printf '\n%s. %s\n' "$id" "$2" | fold -s -w 78 | sed 's/ *$//'
    while :; do
        printf '%s> ' "$unit"
        IFS= read -r reply <&3 ||
            fail 64 "no answer to \"$id\": nothing was recorded"
        reply=$(printf '%s' "$reply" | tr -d '[:cntrl:]')
        if answered=$(answer "$reply" "$unit"); then
            return
        fi
        echo "  $answered." | fold -s -w 66 # it follows the prompt
        echo "  Type a number or a formula: 12, 1.5M, or 3*(P-1)."
    done
}

# given ID UNIT ID=VALUE...: takes the answer to this question from -y.
given() {
    wanted=$1 unit=$2
    shift 2
    for pair; do
        if [ "${pair%%=*}" = "$wanted" ]; then
            answered=$(answer "${pair#*=}" "$unit") ||
                fail 64 "$wanted: $answered"
            return
        fi
    done
    fail 64 "predict -y: no value for \"$wanted\"; add $wanted=VALUE"
}

# predict [-y ID=VALUE...]
predict() {
    need_start
    if [ -e "$record/scores" ]; then
        fail 64 "lab $number has run already, so it is too late to predict;" \
            "\"$me reset $number\" starts it again"
    fi
    questions >"$record/questions"
    yes=
    if [ "${1:-}" = -y ]; then
        yes=1
        shift
    elif [ $# != 0 ]; then
        fail 64 "predict: unknown argument \"$1\"; the only option is -y ID=VALUE..."
    fi
    ids=" $(cut -f 1 "$record/questions" | tr '\n' ' ')"
    for pair; do
        case $ids in
        *" ${pair%%=*} "*) ;;
        *) fail 64 "lab $number has no question \"${pair%%=*}\"" ;;
        esac
    done
    parameters >"$record/parameters"
    [ -n "$yes" ] || print_parameters
    : >"$record/predictions.new"
    exec 3<&0
    while IFS="$tab" read -r id question unit _; do
        if [ -n "$yes" ]; then
            given "$id" "$unit" "$@"
        else
            ask "$id" "$question" "$unit"
        fi
        echo "$id $answered $(date +%s)" >>"$record/predictions.new"
    done <"$record/questions"
    exec 3<&-
    mv "$record/predictions.new" "$record/predictions"
    log predict
    printf '\nRecorded. Next: %s run %s\n' "$me" "$number"
}

print_parameters() {
    echo "Answer with numbers (K, M and G are powers of 1024) or formulas of these"
    echo "names:"
    parameters | sed 's/ / = /; s/^/  /'
}

# run: refuses without predictions; afterwards compares them with measurements.
run() {
    need_start
    [ -s "$record/predictions" ] ||
        fail 64 "predict first: $me predict $number"
    hold
    log run
    SEED=$(conf "$LAB" seed)
    run_steps run.sh "$record/run"
    questions >"$record/questions"
    code=0
    awk -v values="$record/run/values" -v predicted="$record/predictions" \
        -v scores="$record/scores.new" -v colour="$colour" \
        -f "$LAB_LIB/text.awk" -f "$LAB_LIB/expr.awk" \
        -f "$LAB_LIB/compare.awk" "$record/questions" || code=$?
    if [ "$code" = 0 ] && [ "$steps" = 0 ]; then
        mv "$record/scores.new" "$record/scores"
    fi
    if [ "$steps" != 0 ]; then
        fail 2 "the run ended early, with status $steps"
    fi
    printf '\nNext: See and Break it in %s\n      %s explain %s\n' \
        "$(near "$(page)")" "$me" "$number"
    exit "$code"
}
