# SPDX-License-Identifier: MIT
#
# Reads the events of a program of MPI, and prints a row per rank: the time that it
# was in collectives, how often it came last, and how much later than the first rank
# it came, in all.
#
#   GRADWIRE_MPI_TRACE=events collrun exec -n 4 --mpi PROGRAM
#   awk -f late.awk gradwire-mpi.*.jsonl
#
# -v only=shortest: prints only the rank with the shortest time in collectives.

function number(key,    text) {
    match($0, "\"" key "\":[0-9]+")
    text = substr($0, RSTART, RLENGTH)
    sub(/.*:/, "", text)
    return text
}

/"kind":"op_begin"/ {
    rank = number("rank")
    op = number("op")
    at[op, rank] = number("time_ns")
    if (!(op in first) || at[op, rank] < first[op])
        first[op] = at[op, rank]
    if (!(op in last) || at[op, rank] > at[op, last[op]])
        last[op] = rank
    if (rank + 1 > ranks)
        ranks = rank + 1
}

/"kind":"op_end"/ {
    rank = number("rank")
    inside[rank] += number("time_ns") - at[number("op"), rank]
}

END {
    if (!only)
        printf "%4s  %11s  %9s  %7s\n", "rank", "in_calls_ms", "came_last", "late_ms"
    for (op in first) {
        if (op == 0) # the connection of the ranks
            continue
        came_last[last[op]]++
        for (r = 0; r < ranks; r++)
            if ((op, r) in at)
                late[r] += at[op, r] - first[op]
    }
    shortest = 0
    for (r = 0; r < ranks; r++) {
        if (inside[r] < inside[shortest])
            shortest = r
        if (!only)
            printf "%4d  %11.1f  %9d  %7.1f\n", r, inside[r] / 1e6, came_last[r], late[r] / 1e6
    }
    if (only)
        print shortest
}
