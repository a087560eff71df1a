# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034,SC2154 # names are shared with labs/lab
#
# Which lab, and what belongs to the learner. A learner has a folder ($LAB_WORK,
# ./lab-work by default) with a folder for each lab that was started: 01/ holds
# the files of the exercise, which are the learner's, and 01/record/, which is the
# driver's:
#
#   log          a line for everything that was typed: time, verb
#   predictions  ID VALUE TIME
#   run/         what the run wrote; run/values has what it measured
#   scores       ID PREDICTED MEASURED FORMULA RIGHT, once the run is through
#   check/       what the last check wrote
#   best         the verdicts of the best check, as facts.awk prints them
#   hints        how many were shown
#   busy         the process that works here now
#
# What matters is written beside and then renamed, so that an interruption leaves
# the old or the new. Needs $labs, $root and fail().

# find_lab WORD: 1, 01, 01-collectives or collectives.
find_lab() {
    word=$1
    case $word in
    [0-9]) word=0$word ;;
    esac
    for LAB in "$labs"/[0-9][0-9]-*; do
        name=${LAB##*/}
        case $word in
        "$name" | "${name%%-*}" | "${name#*-}")
            number=$(number_of "$LAB")
            LAB_DIR=$work/$number
            record=$LAB_DIR/record
            return
            ;;
        esac
    done
    fail 64 "there is no lab \"$1\"; \"$me list\" names those that there are"
}

number_of() {
    basename "$1" | cut -d - -f 1
}

# conf FOLDER KEY: an entry of its lab.conf.
conf() {
    sed -n "s/^$2=//p" "$1/lab.conf"
}

# chinese: whether the learner reads Chinese, as the locale of messages says.
chinese() {
    case ${LC_ALL:-${LC_MESSAGES:-${LANG:-}}} in
    zh*) [ -e "$LAB/README.zh.md" ] ;;
    *) return 1 ;;
    esac
}

# The page of the lab in the learner's language.
page() {
    if chinese; then
        echo "$LAB/README.zh.md"
    else
        echo "$LAB/README.md"
    fi
}

# That it is there in the other one, too.
other_page() {
    if chinese; then
        echo " (in English: README.md)"
    elif [ -e "$LAB/README.zh.md" ]; then
        echo " (in Chinese: README.zh.md)"
    fi
}

# The parameters are what lab.conf spells in capitals.
parameters() {
    sed -n 's/^\([A-Z][A-Z0-9_]*\)=/\1 /p' "$LAB/lab.conf"
}

find_work() {
    work=${LAB_WORK:-}
    if [ -z "$work" ]; then
        work=lab-work
        case $(pwd -P)/ in
        "$(cd "$labs" && pwd -P)"/*) work=$root/lab-work ;;
        esac
    fi
    above=$work
    while [ ! -d "$above" ]; do
        above=$(dirname "$above")
    done
    case $(cd "$above" && pwd -P)/ in
    "$(cd "$labs" && pwd -P)"/*)
        fail 64 "LAB_WORK is inside of $labs; take a folder of your own"
        ;;
    esac
}

# Where the tools are, and how one types them here.
find_tools() {
    if [ -z "${GW_BIN:-}" ]; then
        GW_BIN=$root/build
        if [ ! -x "$GW_BIN/collrun" ] && command -v collrun >/dev/null; then
            GW_BIN=$(dirname "$(command -v collrun)")
        fi
    fi
    for tool in collrun ringctl ringtop pipebench psnode; do
        [ -x "$GW_BIN/$tool" ] ||
            fail 69 "$tool is not built: type \"make\" in $root"
    done
    GW_BIN=$(cd "$GW_BIN" && pwd)
    case $GW_BIN in
    "$PWD"/*) LAB_SHOWN=${GW_BIN#"$PWD"/}/ ;;
    *) LAB_SHOWN=$GW_BIN/ ;;
    esac
    if [ "$(command -v collrun)" = "$GW_BIN/collrun" ]; then
        LAB_SHOWN=
    fi
}

need_start() {
    [ -d "$record" ] ||
        fail 64 "lab $number is not started here: $me start $number"
}

# What was typed, and when: from that come the minutes of the score.
log() {
    printf '%s %s\n' "$(date +%s)" "$*" >>"$record/log"
}

# One at a time in a learner's lab; who was killed holds nothing.
hold() {
    until (set -C && echo $$ >"$record/busy") 2>/dev/null; do
        holder=$(cat "$record/busy" 2>/dev/null || echo 0)
        if kill -0 "${holder:-0}" 2>/dev/null && [ "${holder:-0}" != 0 ]; then
            fail 75 "lab $number is at work in $LAB_DIR: process $holder"
        fi
        rm -f "$record/busy"
    done
    held=$record/busy
}

# run_steps SCRIPT FOLDER: one of the lab's scripts, which writes to FOLDER. What
# the script started is not left behind.
run_steps() {
    LAB_OUT=$2
    rm -rf "$LAB_OUT"
    mkdir -p "$LAB_OUT"
    GRADWIRE_RUNS=$LAB_OUT/runs
    GRADWIRE_CALIBRATION=$LAB_OUT/costs.json
    export LAB LAB_DIR LAB_LIB LAB_OUT LAB_SHOWN GW_BIN SEED
    export GRADWIRE_RUNS GRADWIRE_CALIBRATION
    unset GRADWIRE_RUN
    : >"$LAB_OUT/commands"
    parameters >"$LAB_OUT/values"
    while read -r name value; do
        export "$name=$value"
    done <"$LAB_OUT/values"
    steps=0
    sh "$LAB/$1" || steps=$?
    end_runs
    if [ "$steps" = 130 ]; then
        exit 130
    fi
}

end_runs() {
    if [ -d "${LAB_OUT:-}/runs" ]; then
        "$GW_BIN/ringctl" down --all >/dev/null 2>&1 || true
    fi
}

leave() {
    end_runs
    if [ -n "${held:-}" ]; then
        rm -f "$held"
    fi
}
