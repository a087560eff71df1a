#!/bin/sh
# SPDX-License-Identifier: MIT
#
# lab_walk.sh [-f | -n SEEDS] [LAB...]: goes through labs as a learner does, each in
# a folder that looks like a fresh checkout; all labs by default. -f: checks only the
# form of their files. For each lab it checks:
#
#   its files have the form of labs/README.md
#   it refuses to run without predictions; the measurements agree with the formulas
#   the starter fails, with a place to look
#   the solution passes with SEEDS seeds (1) and has all points, also in Python
#   every command of its README runs
#
# A lab that needs Python modules or an MPI which are not installed is skipped with a
# sentence. At the end it checks that the score of a learner with all these solutions adds up.
#
# $B is the build, build/ by default. The status is 1 after the first failure, and
# the last lines describe it.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$root" && realpath "${B:-build}")
seeds=1 form_only=
if [ "${1:-}" = -n ]; then
    seeds=$2
    shift 2
elif [ "${1:-}" = -f ]; then
    form_only=1
    shift
fi
folder=$(mktemp -d)
unset GRADWIRE_RUN GRADWIRE_RUNS LAB_WORK GW_BIN

leave() {
    if [ -d "$folder/runs" ]; then
        (cd "$folder" && build/ringctl down --all >/dev/null 2>&1) || true
    fi
    rm -rf "$folder"
}
trap leave EXIT
trap 'exit 130' INT TERM

wrong() {
    echo "lab $lab: $*" >&2
    exit 1
}

# tries STATUS COMMAND...: fails unless it ends with STATUS; its output is in ./said.
tries() {
    wanted=$1
    shift
    code=0
    "$@" >said 2>&1 </dev/null || code=$?
    [ "$code" = "$wanted" ] || {
        cat said >&2
        wrong "$* ended with $code instead of $wanted"
    }
}

says() {
    grep -q "$1" said || {
        cat said >&2
        wrong "its output lacks \"$1\""
    }
}

conf() {
    sed -n "s/^$1=//p" "$home/lab.conf"
}

has_form() {
    for file in README.md explain.md explain.zh.md lab.conf run.sh check.sh predict.txt facts hints.txt \
        exercise solution; do
        [ -e "$home/$file" ] || wrong "$file is missing"
    done
    for key in title minutes level needs seed parts points; do
        [ -n "$(conf $key)" ] || wrong "lab.conf lacks $key"
    done
    [ "$(conf title | wc -c)" -le 39 ] || wrong "its title is over 38 letters"
    [ "$(sed -n 's/^## //p' "$home/README.md" | tr '\n' ,)" = \
        "Question,You need,Predict,Run,See,Break it,Build,Check,Limits,Further," ] ||
        wrong "README.md has other headings"
    sed -n '1{/^# .*?$/p;q;}' "$home/README.md" | grep -q . ||
        wrong "the first line of README.md is not a question"
    [ "$(wc -l <"$home/README.md")" -le 180 ] || wrong "README.md is too long"
    awk 'NF == 7 && length($1) <= 20 { n++ } END { exit n != NR }' FS='\t' asked ||
        wrong "a question of predict.txt lacks something, or its id is long"
    sed 's/.* //' parts_of_facts | sort -u >used
    conf parts | tr ' ' '\n' | sort -u | cmp -s - used ||
        wrong "lab.conf and facts have different parts"
    awk -v of="$(conf points)" '{ n += $1 } END { exit n != of }' \
        parts_of_facts asked_points ||
        wrong "points in lab.conf must be those of the facts and one per question"
    awk -v RS= 'END { exit NR < 2 }' "$home/hints.txt" ||
        wrong "hints.txt must have at least two hints"
}

# Prints "POINTS PART" of every fact, and the questions, to files.
read_files() {
    awk -f "$root/labs/lib/questions.awk" "$home/predict.txt" >asked
    sed 's/.*/1/' asked >asked_points
    sed -n 's/^[a-z].*" *\([0-9]*\)pt  *\([^ ]*\)$/\1 \2/p' "$home/facts" \
        >parts_of_facts
}

# Answers every question with the same number.
answers() {
    yes 1 2>/dev/null | "$@"
}

# A script that the learner has written in Python: the starter fails, the solution
# passes.
python_works() {
    if [ ! -d "$home/solution/python" ] || ! command -v python3 >/dev/null; then
        return
    fi
    for file in "$home/exercise"/*.py; do
        { cat "$file" && echo "# mine"; } >"lab-work/$lab/${file##*/}"
    done
    tries 1 labs/lab check "$lab"
    says "${file##*/}"
    says 'expected '
    if grep -q Traceback said; then wrong "the Python starter does not run"; fi
    cp "$home/solution/python/"*.py "lab-work/$lab"
    tries 0 labs/lab check "$lab" -n "$seeds"
}

works() {
    ls -A >there
    tries 0 labs/lab start "$lab"
    tries 64 labs/lab run "$lab"
    says predict
    tries 64 labs/lab explain "$lab"
    answers labs/lab predict "$lab" >/dev/null || wrong "predict refuses numbers"
    tries 0 labs/lab run "$lab"
    says predicted
    tries 0 labs/lab explain "$lab"
    cmp -s said "$home/explain.md" || wrong "explain shows another text"
    awk '{ exit $3 == "" }' "lab-work/$lab/record/scores" ||
        wrong "something was not measured"
    tries 1 labs/lab check "$lab"
    says FAIL
    says 'expected '
    says 'look at '
    says 'repeat '
    tries 0 labs/lab solution "$lab" --take
    tries 0 labs/lab check "$lab"
    if [ "$seeds" != 1 ]; then
        tries 0 labs/lab check "$lab" -n "$seeds"
    fi
    python_works
    tries 0 labs/lab score --csv
    tr -d '"' <said | grep "$(basename "$home")" |
        grep -q ",$(conf points),$(conf points),[0-9]*,PASS$" || {
        cat said
        wrong "the solution must have all points"
    }
    for file in *; do
        grep -qxF "$file" there || [ "$file" = said ] || [ "$file" = lab-work ] ||
            wrong "it writes $file to the current folder"
    done
}

# Keeps the record for the score of all labs.
keep_record() {
    mkdir -p class/solver
    cp -r "lab-work/$lab" class/solver/
    of=$((of + $(conf points)))
    count=$((count + 1))
}

adds_up() {
    lab="$count of them"
    tries 0 labs/lab score class/solver
    says "^total  *[0-9]* of [0-9]* "
    awk -v of="$of" '$1 == "total" && $2 == of { found = 1 }
        END { exit !found }' said || wrong "the total is not $of points"
    tries 0 labs/lab score --csv class/solver
    [ "$(grep -c '^solver,.*,PASS$' said)" = "$count" ] ||
        wrong "the CSV table has other rows"
    labs/lab score class/solver
}

# The check in README runs with the solution in place.
readme_runs() {
    rm -rf lab-work examples
    mkdir examples
    awk -v dir=examples -f "$root/tests/cli/examples.awk" "$home/README.md" \
        "$home/explain.md"
    sed "s|^labs/lab check|labs/lab solution $lab --take >said; &|" \
        examples/commands >script
    for verb in start predict run check; do
        grep -q "^labs/lab $verb $lab" examples/commands ||
            wrong "README.md has no command to $verb"
    done
    code=0
    answers env PATH="$PATH" bash -eux script >said 2>&1 || code=$?
    [ "$code" = 0 ] || {
        cat said >&2
        wrong "a command of README.md ended with $code"
    }
}

cd "$folder"
for name in cmd lib labs man tests Makefile README.md .ci; do
    ln -s "$root/$name" .
done
ln -s "$build" build

if [ $# = 0 ]; then
    for home in "$root"/labs/[0-9][0-9]-*; do
        home=${home##*/}
        set -- "$@" "${home%%-*}"
    done
fi
of=0 count=0
for lab; do
    for home in "$root/labs/$lab"-*; do
        [ -d "$home" ] || wrong "its folder is missing"
    done
    read_files
    has_form
    [ -z "$form_only" ] || continue
    if [ -n "$(conf python)$(conf mpi)" ] && ! labs/lab ready "$lab" >said 2>&1; then
        echo "lab $lab: skipped: $(cat said)"
        continue
    fi
    works
    keep_record
    readme_runs
    echo "lab $lab: $(conf title): ok"
done
[ -n "$form_only" ] || [ "$count" = 0 ] || adds_up
