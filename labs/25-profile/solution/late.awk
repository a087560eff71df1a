# Prints the late rank of a recording: the receiver of the message that waited longest
# to be received. That finds a member that comes late to a call, too, because its
# neighbour has sent to it long before.
function field(key,    text) {
    if (!match($0, "\"" key "\":\"?[^,\"}]*"))
        return ""
    text = substr($0, RSTART, RLENGTH)
    sub(/^"[^"]*":"?/, "", text)
    return text
}

{
    kind = field("kind")
    rank = field("rank")
    peer = field("peer")
    ms = field("time_ns") / 1e6
    where = field("op") " " field("step") " " field("chunk")
}

kind == "send" { sent[where, rank, peer] = ms }

kind == "apply" && ms - sent[where, peer, rank] > most {
    most = ms - sent[where, peer, rank]
    late = rank
}

END { print late }
