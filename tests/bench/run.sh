#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run.sh [-b] [-r ROWS] [-x SLACK] [-w FILE] BUILD [GROUP...]: measures gradwire
# and its alternatives on this machine, and prints one table with a verdict for
# each row.
#
# Figures of different days cannot be compared, so a round runs gradwire and its
# yardsticks one after the other, for every row. There are ROUNDS rounds (5)
# with SECONDS_EACH seconds per measurement (0.1), and the table has their
# medians, of times and of ratios. The group tune comes first: calibration and
# rules of this machine, which the other groups use (without it they use the
# built-in ones). Missed rows without a reason get as many rounds more, four
# times at most, and all rounds count: bad luck evens out, a slow row stays slow.
#
# MINUTES (20) limits the time: no round begins that would end later, judged by
# the one before. The first round is always whole. SIGINT and SIGTERM end the
# measurements, and the table has the rows measured so far; then the status is
# 130.
#
# BENCH_JSON=FILE receives the same as JSON lines, BENCH_SVG=FILE a drawing. The
# measurements stay in BUILD/bench/times, and the complaints of the programs in
# BUILD/bench/complaints. The file `reasons` has the reasons for missed rows;
# the status is 1 if a row is missed without one.
#
#   -b  the best of the rounds instead of the median
#   -r  the rows, in the form of tests/bench/rows, which is the default. Other
#       files have no reasons.
#   -x  limits are so many times as large
#   -w  write the rows with the current ratios as their limits; no row is missed
#
# The flow of the data: rows -> expand.awk -> jobs.awk -> measure.sh, repeatedly
# -> report.awk and plot.awk; rows missed by report.awk -> jobs.awk once more.
set -eu
cd "$(dirname "$0")/../.."
here=tests/bench
rows=$here/rows reasons=$here/reasons slack=1 record='' best=''
while getopts br:x:w: option; do
    case $option in
    b) best=1 ;;
    r) rows=$OPTARG reasons='' ;;
    x) slack=$OPTARG ;;
    w) record=$OPTARG ;;
    *) exit 64 ;;
    esac
done
shift $((OPTIND - 1))
build=$1
shift
groups=$*
ROUNDS=${ROUNDS:-5}
SECONDS_EACH=${SECONDS_EACH:-0.1}
LIMITS=$build/bench/limits.txt
GRADWIRE_CALIBRATION=$build/bench/costs.json
ROUND=1
export ROUND ROUNDS SECONDS_EACH LIMITS GRADWIRE_CALIBRATION
at_most=600 # seconds of a program: a peer that hangs costs its rows only
end=$(($(date +%s) + ${MINUTES:-20} * 60))
signal='' # the one that ended the measurements

prepare() {
    awk -v groups="$groups" -f $here/expand.awk "$rows" >"$build/bench/rows"
    awk -f $here/yardstick.awk -f $here/jobs.awk "$build/bench/rows" \
        >"$build/bench/jobs"
    rm -f "$GRADWIRE_CALIBRATION"
    : >"$build/bench/times"
    : >"$build/bench/complaints"
    : >"$build/bench/limits.all"
    $here/about.sh >"$build/bench/about"
}

# progress TENTH TEXT: on a terminal one line that changes, elsewhere a line for
# each tenth of a round.
progress() {
    if [ -t 2 ]; then
        printf '\r%-79.79s\r' "$2" >&2
    elif [ "$1" != "${shown:-}" ]; then
        shown=$1
        echo "$2" >&2
    fi
}

# One start of a program, which may fail: its rows then have no result. It runs
# in the background, since the shell takes a signal only while it waits.
job() {
    progress "$ROUND.$((number * 10 / (jobs + 1)))" \
        "round $ROUND of $ROUNDS, $number of $jobs: $*"
    echo "## $*" >>"$build/bench/complaints"
    timeout -k 5 $at_most $here/measure.sh "$build" "$@" \
        >>"$build/bench/times" 2>>"$build/bench/complaints" </dev/null &
    running=$!
    wait $running || echo "status $?" >>"$build/bench/complaints"
}

interrupt() {
    signal=$1
    if kill -TERM "${running:-}" 2>/dev/null; then
        wait "$running" || true
    fi
}

# The jobs in a file, numbered.
round() {
    jobs=$(wc -l <"$1")
    number=1
    echo "round $ROUND" >>"$build/bench/times"
    "$build/bench/limits" "$SECONDS_EACH" | tee "$LIMITS" \
        >>"$build/bench/limits.all"
    while [ -z "$signal" ] && read -r line; do
        # shellcheck disable=SC2086 # a job is words
        job $line
        number=$((number + 1))
    done <"$1"
    ROUND=$((ROUND + 1))
}

# ROUNDS rounds of the jobs in a file, as far as there is time.
measure() {
    last=$((ROUND + ROUNDS))
    took=0
    while [ "$ROUND" -lt "$last" ] && [ -z "$signal" ]; do
        begin=$(date +%s)
        if [ $((begin + took)) -ge "$end" ] && [ "$ROUND" -gt 1 ]; then
            break
        fi
        round "$1"
        took=$(($(date +%s) - begin))
    done
    if [ -t 2 ]; then
        progress '' ''
    fi
}

# table [NAME=VALUE...]: the table of all measurements so far.
table() {
    awk -v slack="$slack" -v best_counts="$best" -v reasons="$reasons" \
        "$@" -f $here/stats.awk -f $here/yardstick.awk -f $here/reasons.awk \
        -f $here/report.awk "$build/bench/times" "$build/bench/rows"
}

# All four rows of the group tune come from the measurement of the first.
look_again() {
    AGAIN=yes
    export AGAIN
    : >"$build/bench/missed"
    table -v missed="$build/bench/missed" >/dev/null || true
    sed 's/ tune-[a-z0-9]* / tune-regret /' "$build/bench/missed" |
        awk -f $here/yardstick.awk -f $here/jobs.awk >"$build/bench/jobs.again"
    test ! -s "$build/bench/jobs.again" || measure "$build/bench/jobs.again"
}

# The medians of peers/limits.c, as further lines of `about`.
limits() {
    sort -k 1,1 -k 2,2n "$build/bench/limits.all" | awk '
        function print_median() { if (count) print name ": " value[int((count + 1) / 2)] }
        $1 != name { print_median(); name = $1; count = 0 }
        { value[++count] = $2 " " $3 }
        END { print_median() }'
}

about_as_json() {
    awk '{
        at = index($0, ": ")
        value = substr($0, at + 2)
        gsub(/["\\]/, "\\\\&", value)
        printf "%s\"%s\":\"%s\"", (NR == 1 ? "{\"about\":{" : ","),
            substr($0, 1, at - 1), value
    }
    END { print "}}" }' "$build/bench/about"
}

draw() {
    awk -f $here/stats.awk -f $here/plot.awk "$build/bench/times" \
        "$build/bench/rows" >"$BENCH_SVG"
}

# The rows with their current ratios as limits, below the same leading comment.
write_down() {
    sed '/^#/!d' "$rows" >"$build/bench/rows.new"
    cat "$build/bench/recorded" >>"$build/bench/rows.new"
    cp "$build/bench/rows.new" "$record"
}

report() {
    limits >>"$build/bench/about"
    cat "$build/bench/about"
    echo
    test -z "${BENCH_JSON:-}" || about_as_json >"$BENCH_JSON"
    test -z "${BENCH_SVG:-}" || draw
    met=0
    table -v json="${BENCH_JSON:-}" -v record="$build/bench/recorded" || met=$?
    if [ -n "$record" ]; then
        write_down
        met=0
    fi
    return $met
}

trap 'interrupt INT' INT
trap 'interrupt TERM' TERM
prepare
measure "$build/bench/jobs"
for _ in 1 2 3 4; do
    test "$record" || test "$signal" || look_again
done
if [ -n "$signal" ]; then
    record='' # its limits would be of some rows only
    echo "interrupted in round $((ROUND - 1)): the table has the rows measured so far" >&2
    report || true
    exit 130
fi
report
