# Prints the late rank of a recording: the member that stopped for a while, before or
# in the middle of an all-reduce. Events are lines such as
#
#   {"time_ns":236000000,"kind":"op_begin","rank":0,"op":2,...}
#   {"time_ns":236000000,"kind":"send","rank":0,"peer":1,"op":2,"step":0,"chunk":0,...}
#   {"time_ns":270000000,"kind":"apply","rank":1,"peer":0,"op":2,"step":0,"chunk":0,...}
#   {"time_ns":274000000,"kind":"op_end","rank":0,"op":2,...}
#
# This version prints the rank with the longest call.
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
    op = field("op")
    ms = field("time_ns") / 1e6
}

kind == "op_begin" { began[op, rank] = ms }

kind == "op_end" && ms - began[op, rank] > most {
    most = ms - began[op, rank]
    late = rank
}

END { print late }
