# SPDX-License-Identifier: MIT
#
# Counts the events of a recording, JSON lines whose strings are words: the number of
# each kind and their bytes; of all ranks, of each rank, and of the rank with the
# most.
#
#   awk -v name=NAME [-v op=OP] -f events.awk FILE
#   awk -v name=NAME -v op=largest -f events.awk FILE FILE
#
# The largest op is the one that sends the most bytes; to find it, the file is read
# twice.

function field(key,    text) {
    if (!match($0, "\"" key "\":\"?[^,\"}]*"))
        return ""
    text = substr($0, RSTART, RLENGTH)
    sub(/^"[^"]*":"?/, "", text)
    return text
}

function count(key, bytes) {
    if (!(key in events))
        keys[++n] = key
    events[key]++
    volume[key] += bytes
}

op == "largest" && FNR == NR {
    if (field("kind") == "send")
        sent[field("op")] += field("bytes")
    next
}

op == "largest" {
    for (each in sent)
        if (op == "largest" || sent[each] > sent[op])
            op = each
}

op != "" && field("op") != op { next }

{
    kind = field("kind")
    count(kind, field("bytes"))
    count(kind "." field("rank"), field("bytes"))
}

function say(key, ending, what, many) {
    sub(/[.]|$/, what "&", key)
    printf "%s.%s%s %.0f\n", name, key, ending, many
}

END {
    for (i = 1; i <= n; i++) {
        say(keys[i], "", "", events[keys[i]])
        say(keys[i], "", "_bytes", volume[keys[i]])
        kind = keys[i]
        if (!sub(/[.].*/, "", kind))
            kinds[kind]
        if (events[keys[i]] > most[kind] && keys[i] != kind)
            most[kind] = events[keys[i]]
        if (volume[keys[i]] > largest[kind] && keys[i] != kind)
            largest[kind] = volume[keys[i]]
    }
    for (kind in kinds) {
        say(kind, "_max", "", most[kind])
        say(kind, "_max", "_bytes", largest[kind])
    }
}
