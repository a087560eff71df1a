# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034,SC2154 # names are shared with labs/lab
#
# Finds the lab and the learner's files. A learner has a folder ($LAB_WORK,
# ./lab-work by default) with a folder for each lab that was started. 01/ has the
# files of the exercise, which belong to the learner, and 01/record/, which belongs
# to the driver:
#
#   log          one line per command: time, verb
#   predictions  ID VALUE TIME
#   run/         output of the run; run/values has the measurements
#   scores       ID PREDICTED MEASURED FORMULA RIGHT, after a complete run
#   check/       output of the last check
#   best         the verdicts of the best check, as facts.awk prints them
#   hints        one line per hint shown
#   busy         the process that works here now
#
# Important files are written under another name and renamed, so an interruption
# leaves the old or the new one. Needs $labs, $root and fail().

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
            number=${name%%-*}
            LAB_DIR=$work/$number
            record=$LAB_DIR/record
            return
            ;;
        esac
    done
    fail 64 "unknown lab \"$1\"; \"$me list\" lists the labs"
}

# The folders of all labs in the order of the table in README.md.
in_order() {
    sed -n 's/^| \[[0-9][0-9]\](\([^/]*\)\/README.md).*/\1/p' "$labs/README.md"
}

# conf FOLDER KEY: an entry of its lab.conf.
conf() {
    sed -n "s/^$2=//p" "$1/lab.conf"
}

# chinese: whether the locale of messages is Chinese.
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

# Prints a note about the page in the other language.
other_page() {
    if chinese; then
        echo " (in English: README.md)"
    elif [ -e "$LAB/README.zh.md" ]; then
        echo " (in Chinese: README.zh.md)"
    fi
}

# The parameters are the keys of lab.conf in capitals.
parameters() {
    sed -n 's/^\([A-Z][A-Z0-9_]*\)=/\1 /p' "$LAB/lab.conf"
}

# outside: a folder for work that is not in labs: the checkout, or the user's data if
# the labs are installed.
outside() {
    if [ -e "$root/Makefile" ]; then
        echo "$root"
    else
        echo "${XDG_DATA_HOME:-$HOME/.local/share}/gradwire"
    fi
}

find_work() {
    work=${LAB_WORK:-}
    if [ -z "$work" ]; then
        work=lab-work
        case $(pwd -P)/ in
        "$(cd "$labs" && pwd -P)"/*) work=$(outside)/lab-work ;;
        esac
    fi
    above=$work
    while [ ! -d "$above" ]; do
        above=$(dirname "$above")
    done
    case $(cd "$above" && pwd -P)/ in
    "$(cd "$labs" && pwd -P)"/*)
        fail 64 "LAB_WORK is inside $labs; use a folder outside of it"
        ;;
    esac
}

# Finds the tools, in the checkout, in PREFIX/bin for labs in PREFIX/share/gradwire,
# or in PATH, and the prefix to type them from the current folder.
find_tools() {
    if [ -z "${GW_BIN:-}" ]; then
        GW_BIN=$root/build
        [ -e "$root/Makefile" ] || GW_BIN=$root/../../bin
        if [ ! -x "$GW_BIN/collrun" ] && command -v collrun >/dev/null; then
            GW_BIN=$(dirname "$(command -v collrun)")
        fi
    fi
    for tool in collrun ringctl ringtop pipebench psnode; do
        [ -x "$GW_BIN/$tool" ] || not_there "$tool"
    done
    GW_BIN=$(cd "$GW_BIN" && pwd)
    find_library
    case $GW_BIN in
    "$PWD"/*) LAB_SHOWN=${GW_BIN#"$PWD"/}/ ;;
    *) LAB_SHOWN=$GW_BIN/ ;;
    esac
    if [ "$(command -v collrun)" = "$GW_BIN/collrun" ]; then
        LAB_SHOWN=
    fi
}

not_there() {
    if [ -e "$root/Makefile" ]; then
        fail 69 "$1 is not built: type \"make\" in $root"
    fi
    fail 69 "$1 is not installed in PATH"
}

# Finds the headers, and the folder of the library, for labs with programs in C: in
# this checkout, in that of the tools, or where they are installed.
find_library() {
    LAB_LIBRARY=$GW_BIN
    for LAB_INCLUDE in "$root/lib/include" "${GW_BIN%/*}/lib/include"; do
        if [ -d "$LAB_INCLUDE" ]; then
            return
        fi
    done
    LAB_INCLUDE=${GW_BIN%/*}/include
    for LAB_LIBRARY in "${GW_BIN%/*}"/lib "${GW_BIN%/*}"/lib/*; do
        if [ -e "$LAB_LIBRARY/libgradwire.so" ]; then
            return
        fi
    done
}

# The Python of a lab with `python=MODULE...` in its lab.conf, and the package
# gradwire for it, of the checkout or installed.
find_python() {
    modules=$(conf "$LAB" python)
    [ -n "$modules" ] || return 0
    PYTHON=${PYTHON:-/usr/bin/python3}
    if [ -d "$root/lib/python/gradwire" ]; then
        PYTHONPATH=$root/lib/python${PYTHONPATH:+:$PYTHONPATH}
        GRADWIRE_LIBRARY=$LAB_LIBRARY/libgradwire.so
        export PYTHONPATH GRADWIRE_LIBRARY
    fi
    PYTHONDONTWRITEBYTECODE=1
    export PYTHON PYTHONDONTWRITEBYTECODE
    for module in $modules; do
        "$PYTHON" -c "import $module" 2>/dev/null ||
            fail 69 "lab $number needs the Python module $module, which $PYTHON" \
                "does not have; type: apt install python3-$module"
    done
    case $(conf "$LAB" backend) in
    torch)
        "$PYTHON" -c "import gradwire.torch as t; t.extension()" 2>/dev/null ||
            fail 69 "lab $number needs the backend of torch.distributed; type:" \
                "make torch (or install python3-gradwire)"
        ;;
    esac
}

# The MPI of a lab with `mpi=yes`: the first one that has a compiler, and gradwire's
# library.
find_mpi() {
    [ -n "$(conf "$LAB" mpi)" ] || return 0
    for LAB_MPI in openmpi mpich; do
        if command -v "mpicc.$LAB_MPI" >/dev/null &&
            [ -e "$LAB_LIBRARY/libgradwire-mpi-$LAB_MPI.so" ]; then
            export LAB_MPI
            return
        fi
    done
    fail 69 "lab $number needs Open MPI or MPICH, with its compiler; type:" \
        "apt install openmpi-bin libopenmpi-dev, and build gradwire again"
}

need_start() {
    [ -d "$record" ] ||
        fail 64 "lab $number is not started here; type: $me start $number"
}

# Records the command and its time; the score computes the minutes from this.
log() {
    printf '%s %s\n' "$(date +%s)" "$*" >>"$record/log"
}

# Allows one process at a time in a learner's lab. A dead process holds nothing.
hold() {
    until (set -C && echo $$ >"$record/busy") 2>/dev/null; do
        holder=$(cat "$record/busy" 2>/dev/null || echo 0)
        if kill -0 "${holder:-0}" 2>/dev/null && [ "${holder:-0}" != 0 ]; then
            fail 75 "lab $number is in use in $LAB_DIR by process $holder; wait for it"
        fi
        rm -f "$record/busy"
    done
    held=$record/busy
}

# run_steps SCRIPT FOLDER: runs one of the lab's scripts, which writes to FOLDER.
# Ends the runs that the script has started.
run_steps() {
    LAB_OUT=$2
    rm -rf "$LAB_OUT"
    mkdir -p "$LAB_OUT"
    GRADWIRE_RUNS=$LAB_OUT/runs
    GRADWIRE_CALIBRATION=$LAB_OUT/costs.json
    LAB_COMMAND=$me
    export LAB LAB_DIR LAB_LIB LAB_OUT LAB_SHOWN LAB_COMMAND GW_BIN SEED
    export LAB_INCLUDE LAB_LIBRARY
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
