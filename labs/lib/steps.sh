# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# Functions for the run.sh and check.sh of a lab. They source this file:
#
#   . "$LAB_LIB/steps.sh"
#
# The environment has the parameters of lab.conf (P, S, ...), SEED, LAB_DIR (the
# learner's folder), LAB_OUT (an empty folder for the files of this run), LAB (the
# lab's own folder), LAB_INCLUDE and LAB_LIBRARY (folders of the headers and the
# library) and LAB_COMMAND (the driver as it was typed). The names collrun,
# ringctl, pipebench, psnode and ringtop mean the tools of the build. A lab with
# python=... in its lab.conf has PYTHON, which finds the package gradwire.
#
#   show COMMAND...              prints the command, then runs it
#   measure NAME COMMAND...      prints it, runs it with -o jsonl, and notes its
#                                output as values NAME.field; its status is
#                                NAME.status, and never ends the script
#   measure_by FIELD,.. NAME COMMAND...
#                                the same for a table: NAME.value-of-FIELD.field
#   compile NAME FILE.c          compiles a plug-in, $LAB_OUT/NAME.so. Notes
#                                NAME.compiled, 1 or 0, and shows the messages of
#                                the compiler.
#   make_program NAME FILE.c...  compiles a program of ranks, $LAB_OUT/NAME, for
#                                collrun exec. Notes NAME.compiled, 1 or 0, and
#                                shows the messages of the compiler.
#   make_mpi_program NAME FILE.c...
#                                the same for a program of MPI, by the compiler of
#                                the MPI that the lab has found ($LAB_MPI)
#   record_mpi NAME WORD...      runs such a program with P ranks, which write their
#                                events to $LAB_OUT/gradwire-mpi.RANK.jsonl
#   calls_of NAME [PATTERN]      prints the number of collectives in the trace of a
#                                program that measure has run, or of those whose
#                                names match
#   allow_root_of_mpi            lets root start ranks, as in a container
#   script NAME                  prints the learner's NAME.awk or NAME.py: the changed
#                                one, or of two the newer
#   formula_in FILE NAME         prints the formula of the last line NAME = FORMULA
#                                in the learner's file; comments begin with #
#   run_script NAME FILE VAR=VALUE...
#                                runs it on the file, with these variables
#   note NAME VALUE              notes a value, unless it is empty
#   count_events NAME FILE [OP]  notes the numbers of events of a recording, and
#                                their bytes: NAME.send, NAME.send_bytes, and of each
#                                rank NAME.send.RANK, NAME.send_bytes.RANK, and the
#                                largest of these, NAME.send_max and
#                                NAME.send_bytes_max. OP: only of that op, or
#                                of the largest
#   value NAME                   prints a noted value
#   compute NAME FORMULA         notes its value, or prints its error
#   report NAME FIELD...         prints some of the values that measure noted
#   say TEXT...                  prints a paragraph
#
# The learner can type a command that is shown. It is ended after $LAB_TIMEOUT
# seconds, 60 by default.

# A word, quoted for the shell.
quoted() {
    case $1 in
    '' | *[!A-Za-z0-9_./:=,+@%-]*)
        printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"
        ;;
    *) printf '%s' "$1" ;;
    esac
}

# The command as the learner would type it, in one line.
typed() {
    if [ -x "$GW_BIN/$1" ]; then
        printf '%s' "$LAB_SHOWN"
    fi
    quoted "$1"
    shift
    for word; do
        printf ' '
        quoted "$word"
    done
}

run_tool() {
    if [ -x "$GW_BIN/$1" ]; then
        program=$GW_BIN/$1
        shift
        set -- "$program" "$@"
    fi
    timeout --foreground "${LAB_TIMEOUT:-60}" "$@"
}

say() {
    printf '\n'
    printf '%s\n' "$*" | fold -s -w 78 | sed 's/ *$//'
}

show() {
    printf '$ %s\n' "$(typed "$@")"
    run_tool "$@"
}

note() {
    if [ -n "$2" ]; then
        printf '%s %s\n' "$1" "$2" >>"$LAB_OUT/values"
    fi
}

value() {
    awk -v name="$1" '$1 == name { sub(/^[^ ]* /, ""); last = $0 }
        END { print last }' "$LAB_OUT/values"
}

make_program() {
    name=$1
    shift
    set -- -std=gnu11 -O2 -Wall -Wextra -ffp-contract=off -I "$LAB" \
        -I "$LAB_INCLUDE" -o "$LAB_OUT/$name" "$@" \
        -L "$LAB_LIBRARY" -lgradwire -lm "-Wl,-rpath,$LAB_LIBRARY"
    printf '%s\t%s\n' "$name" "$(typed cc "$@")" >>"$LAB_OUT/commands"
    # shellcheck disable=SC2086 # the compiler may be two words
    note_compiled "$name" ${CC:-cc} "$@"
}

make_mpi_program() {
    name=$1
    shift
    set -- "mpicc.$LAB_MPI" -std=gnu11 -O2 -Wall -Wextra -ffp-contract=off -I "$LAB" \
        -o "$LAB_OUT/$name" "$@"
    printf '%s\t%s\n' "$name" "$(typed "$@")" >>"$LAB_OUT/commands"
    note_compiled "$name" "$@"
}

# note_compiled NAME COMMAND...
note_compiled() {
    name=$1
    shift
    if "$@" 2>"$LAB_OUT/$name.err"; then
        note "$name.compiled" 1
    else
        note "$name.compiled" 0
    fi
    sed 's/^/    /' "$LAB_OUT/$name.err"
}

record_mpi() {
    name=$1
    shift
    printf '$ GRADWIRE_MPI_TRACE=events %s\n' \
        "$(typed collrun exec -n "$P" --mpi "./$name" "$@")"
    (
        cd "$LAB_OUT"
        GRADWIRE_MPI_TRACE=events
        export GRADWIRE_MPI_TRACE
        run_tool collrun exec -n "$P" --mpi "./$name" "$@" >"$name.traced" 2>&1
    ) || sed 's/^/    /' "$LAB_OUT/$name.traced"
}

calls_of() {
    awk -v pattern="^${2:-MPI_.*}\$" '$1 ~ pattern && $3 ~ /B$/ { n += $4 }
        END { print n + 0 }' "$LAB_OUT/$1.err"
}

allow_root_of_mpi() {
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
}

measure() {
    measure_by '' "$@"
}

measure_by() {
    by=$1
    name=$2
    shift 2
    printf '$ %s\n' "$(typed "$@")"
    printf '%s\t%s\n' "$name" "$(typed "$@")" >>"$LAB_OUT/commands"
    code=0
    run_tool "$@" -o jsonl >"$LAB_OUT/$name.jsonl" 2>"$LAB_OUT/$name.err" ||
        code=$?
    if [ "$code" = 130 ]; then
        exit 130
    fi
    awk -v name="$name" -v by="$by" -f "$LAB_LIB/json.awk" \
        "$LAB_OUT/$name.jsonl" >>"$LAB_OUT/values"
    note "$name.status" "$code"
    if [ "$code" != 0 ]; then
        sed 's/^/    /' "$LAB_OUT/$name.err"
    fi
    if [ "$code" = 124 ] && [ ! -s "$LAB_OUT/$name.err" ]; then
        echo "    It was ended after ${LAB_TIMEOUT:-60} s; set LAB_TIMEOUT for more."
    fi
}

# changed FILE: whether the learner has changed the file.
changed() {
    [ -e "$LAB_DIR/$1" ] && ! cmp -s "$LAB/exercise/$1" "$LAB_DIR/$1"
}

script() {
    if [ ! -e "$LAB_DIR/$1.awk" ] || { changed "$1.py" &&
        { ! changed "$1.awk" ||
            [ -n "$(find "$LAB_DIR/$1.py" -newer "$LAB_DIR/$1.awk")" ]; }; }
    then
        echo "$LAB_DIR/$1.py"
    else
        echo "$LAB_DIR/$1.awk"
    fi
}

formula_in() {
    sed -n "s/#.*//; /^ *$2 *= */{s///;h;}; \${x;p;}" "$LAB_DIR/$1"
}

run_script() {
    file=$(script "$1")
    data=$2
    shift 2
    case $file in
    *.py)
        python3 "$file" "$@" "$data"
        return
        ;;
    esac
    for variable; do
        shift
        set -- "$@" -v "$variable"
    done
    awk "$@" -f "$file" "$data"
}

compile() {
    include=${LAB_INCLUDE#"$PWD"/}
    line=$(typed cc -shared -fPIC -I "$include" -o "$1.so" "${2#"$PWD"/}")
    printf '$ %s\n' "$line"
    printf '%s\t%s\n' "$1" "$line" >>"$LAB_OUT/commands"
    if ${CC:-cc} -std=gnu11 -Wall -shared -fPIC -I "$include" \
        -o "$LAB_OUT/$1.so" "$2" >"$LAB_OUT/$1.cc" 2>&1; then
        note "$1.compiled" 1
    else
        note "$1.compiled" 0
    fi
    sed 's/^/    /' "$LAB_OUT/$1.cc"
}

report() {
    name=$1
    shift
    for field; do
        shown=$(value "$name.$field")
        case $shown in
        *[!0-9.]*) ;;
        *.?????*) shown=$(printf '%.6g' "$shown") ;;
        esac
        printf '    %-24s %s\n' "$field" "${shown:--}"
    done
}

compute() {
    if result=$(FORMULA=$2 awk -v values="$LAB_OUT/values" \
        -f "$LAB_LIB/expr.awk" -f "$LAB_LIB/calc.awk" </dev/null); then
        note "$1" "$result"
    else
        echo "    $1 is not a number: $result"
    fi
}

count_events() {
    if [ -e "$2" ]; then
        if [ "${3:-}" = largest ]; then set -- "$1" "$2" "$3" "$2"; fi
        awk -v name="$1" -v op="${3:-}" -f "$LAB_LIB/events.awk" "$2" \
            ${4:+"$4"} >>"$LAB_OUT/values"
    fi
}
