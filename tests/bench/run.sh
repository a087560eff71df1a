#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run.sh [-b] [-r ROWS] [-x SLACK] [-w FILE] BUILD [GROUP...]: gradwire beside what
# one would use instead, on this machine, now, as one table of which every row
# says whether its promise is kept.
#
# Figures of different days cannot be compared, so a round runs gradwire and
# what it is compared with one after the other, for every row; ROUNDS rounds
# are made (5), SECONDS_EACH seconds a measurement (0.1), and the table has
# their medians, of times and of ratios. All rows take about 20 minutes. The
# group tune comes first: calibration and rules of this machine, which the others
# use (alone they go by what is built in). Rows that would be missed, and have no
# reason, get as many rounds more, four times at most, and all count: bad luck
# evens out, what is slow stays so. BENCH_JSON=FILE receives the same as
# JSON lines, BENCH_SVG=FILE a drawing. What was measured stays in
# BUILD/bench/times, and what the programs complained of in
# BUILD/bench/complaints. The file `reasons` has, for rows that are missed, why;
# the status is 1 when a row is missed that has no reason.
#
#   -b  the best of the rounds instead of the median
#   -r  the rows, in the form of tests/bench/rows, which is the default; for
#       others there are no reasons
#   -x  limits are so many times as large
#   -w  write the rows with the ratios of now as their limits; no row is missed
#
# The way of the data: rows -> expand.awk -> jobs.awk -> measure.sh, again and
# again -> report.awk and plot.awk; what report.awk misses -> jobs.awk once more.
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

progress() {
    if [ -t 2 ]; then
        printf '\r%-60.60s\r' "$*" >&2
    fi
}

# One start of a program, which may fail: its rows then have no result.
job() {
    progress "round $ROUND of $ROUNDS, $number of $jobs: $*"
    echo "## $*" >>"$build/bench/complaints"
    timeout -k 5 $at_most $here/measure.sh "$build" "$@" \
        >>"$build/bench/times" 2>>"$build/bench/complaints" </dev/null ||
        echo "status $?" >>"$build/bench/complaints"
}

# ROUNDS rounds of the jobs in a file; they are numbered through.
measure() {
    jobs=$(wc -l <"$1")
    last=$((ROUND + ROUNDS))
    while [ "$ROUND" -lt "$last" ]; do
        number=1
        echo "round $ROUND" >>"$build/bench/times"
        "$build/bench/limits" "$SECONDS_EACH" | tee "$LIMITS" \
            >>"$build/bench/limits.all"
        while read -r line; do
            # shellcheck disable=SC2086 # a job is words
            job $line
            number=$((number + 1))
        done <"$1"
        ROUND=$((ROUND + 1))
    done
    progress ""
}

# table [NAME=VALUE...]: the table of all that was measured so far.
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

# The medians of what peers/limits.c has measured, as more lines of about.
limits() {
    sort -k 1,1 -k 2,2n "$build/bench/limits.all" | awk '
        function tell() { if (count) print name ": " value[int((count + 1) / 2)] }
        $1 != name { tell(); name = $1; count = 0 }
        { value[++count] = $2 " " $3 }
        END { tell() }'
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

# The rows with what their limits would be now, under the same first words.
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

trap 'exit 130' INT TERM
prepare
measure "$build/bench/jobs"
for _ in 1 2 3 4; do
    test "$record" || look_again
done
report
