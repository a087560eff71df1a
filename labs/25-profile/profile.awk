# SPDX-License-Identifier: MIT
#
# Reads a recording and prints a profile, one row per rank.
#
#     awk -f profile.awk FILE
#
# With all-reduces: of the one that takes longest, when each rank begins it, how long
# it lasts there, and the longest transfer to and from the rank. With a pipeline: how
# long each stage works and waits. With -v rule=calls, link or pipeline it prints only
# the late rank: the one that begins last, the one that is slow in both directions, or
# the one that waits least.

function field(key,    text) {
    if (!match($0, "\"" key "\":\"?[^,\"}]*"))
        return ""
    text = substr($0, RSTART, RLENGTH)
    sub(/^"[^"]*":"?/, "", text)
    return text
}

function transfer(from, to) {
    return field("op") SUBSEP from SUBSEP to SUBSEP field("step") SUBSEP \
        field("chunk")
}

function longer(most, op, rank, ms) {
    if (ms > most[op, rank])
        most[op, rank] = ms
}

function late_of(name, value) {
    if (rule == name && (late == "" || value > latest)) {
        latest = value
        late = rank
    }
}

{
    kind = field("kind")
    rank = field("rank")
    now = field("time_ns") / 1e6
    op = field("op")
    if (now > end)
        end = now
    if (rank >= ranks)
        ranks = rank + 1
}

kind == "op_begin" { began[op, rank] = now }

kind == "op_end" {
    lasted[op, rank] = now - began[op, rank]
    if (lasted[op, rank] > longest) {
        longest = lasted[op, rank]
        slow = op
    }
}

kind == "send" { sent[transfer(rank, field("peer"))] = now }

kind == "apply" {
    took = now - sent[transfer(field("peer"), rank)]
    longer(into, op, rank, took)
    longer(out, op, field("peer"), took)
}

kind == "pass_begin" { pass[rank] = now }

kind == "pass_end" {
    works[rank] += now - pass[rank]
    pipeline = 1
}

END {
    for (rank = 0; rank < ranks; rank++) {
        late_of("calls", began[slow, rank])
        late_of("link", into[slow, rank] < out[slow, rank] ? \
            into[slow, rank] : out[slow, rank])
        late_of("pipeline", works[rank])
    }
    if (rule != "") {
        print late
        exit
    }
    if (pipeline)
        print "rank  works ms  waits ms"
    else
        print "op " slow "\nrank  begins ms  lasts ms  longest in ms  longest out ms"
    for (rank = 0; rank < ranks; rank++)
        if (pipeline)
            printf "%4d  %8.3f  %8.3f\n", rank, works[rank], end - works[rank]
        else
            printf "%4d  %9.3f  %8.3f  %13.3f  %14.3f\n", rank, began[slow, rank],
                lasted[slow, rank], into[slow, rank], out[slow, rank]
}
