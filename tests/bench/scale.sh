#!/bin/sh
# SPDX-License-Identifier: MIT
#
# scale.sh BUILD [OP...]: what collrun sim takes with very many ranks, beside
# what is promised.
#
#     every algorithm           4,096 ranks    10 s, 2 GiB
#     the logarithmic ones    100,000 ranks    60 s, 2 GiB
#
# Logarithmic is what says so in its formula (collrun list). An algorithm for
# powers of two runs with 131,072 ranks instead. Seconds are those of the one
# core that a simulation uses: what else runs here is not its doing. A run that
# collrun refuses with a sentence is shown with it and judged by nobody: an
# all-to-all by Bruck moves p^2 blocks, which are more than there are numbers
# for from 4,097 ranks on. The status is 1 when a limit is missed. OP: only
# these collectives.
set -eu
cd "$(dirname "$0")/../.."
build=$1
shift
memory_mib=2048
missed=0
sentence=$build/bench/scale.err

# The collective, algorithm and ranks, and the limit in seconds.
run() {
    status=0
    used=$("$build/bench/used" timeout -k 5 240 "$build/collrun" sim "$1" \
        -a "$2" -n "$3" -o csv 2>&1 >/dev/null) || status=$?
    echo "$used" | sed '$d' >"$sentence"
    verdict=$(echo "$used" | tail -n 1 | awk -v most="$4" \
        -v mib=$memory_mib -v status=$status '{
            verdict = (status || $2 > most || $3 > mib) ? "MISS" : "PASS"
            printf "%8.2f %8.2f %6d MiB  %s", $1, $2, $3, \
                status == 64 ? "-" : verdict
        }')
    printf '%-15s %-19s %7d  %s\n' "$1" "$2" "$3" "$verdict"
    case $verdict in
    *PASS) ;;
    *-) sed 's/^/    /' "$sentence" ;;
    *)
        missed=1
        sed 's/^/    /' "$sentence"
        ;;
    esac
}

printf '%-15s %-19s %7s  %8s %8s %10s\n' op algo ranks wall/s cpu/s memory
list=$build/bench/scale.list
ops=${*:-$("$build/collrun" list -o csv | sed '1d; s/,.*//' | uniq)}
for op in $ops; do
    "$build/collrun" list "$op" -o jsonl | sed -n \
        's/.*"algo":"\([^"]*\)".*"ranks":"\([^"]*\)".*"formula":"\([^"]*\)".*/\1|\2|\3/p' \
        >"$list"
    while IFS='|' read -r algo ranks formula; do
        run "$op" "$algo" 4096 10
        case $formula in
        *+p-1*) ;;
        *log2*)
            [ "$ranks" = '2^k' ] && many=131072 || many=100000
            run "$op" "$algo" "$many" 60
            ;;
        esac
    done <"$list"
done
exit $missed
