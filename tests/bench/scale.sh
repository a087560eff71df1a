#!/bin/sh
# SPDX-License-Identifier: MIT
#
# scale.sh BUILD [OP...]: time and memory of collrun sim with very many ranks,
# and their limits.
#
#     every algorithm           4,096 ranks    10 s, 2 GiB
#     the logarithmic ones    100,000 ranks    60 s, 2 GiB
#
# Logarithmic algorithms have a logarithm in their formula (collrun list). An
# algorithm for powers of two runs with 131,072 ranks instead. Seconds are those
# of the one core that a simulation uses, since other load is not its fault. A
# run that collrun refuses is shown with the error and not judged: an all-to-all
# by Bruck moves p^2 blocks, which exceed the numbers from 4,097 ranks on. The
# status is 1 if a limit is exceeded. OP: only these collectives.
set -eu
cd "$(dirname "$0")/../.."
build=$1
shift
memory_mib=2048
missed=0
sentence=$build/bench/scale.err

# Runs the collective, algorithm and number of ranks, with the limit in seconds.
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
