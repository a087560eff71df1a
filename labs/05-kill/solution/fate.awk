# fate.awk: what becomes of the op under way when a member dies? It depends on
# the number of chunks that the member has sent. The nth send, with n members, is
# the chunk that it completes itself; all other chunks have its data already.
#
#     awk -f fate.awk -v dead=2 -v at_ms=202.5 -v members=4 EVENTS.jsonl

function number(name) {
    if (!match($0, "\"" name "\":[0-9]+"))
        return -1
    return substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3) + 0
}

number("time_ns") > at_ms * 1e6 { next }
/"kind":"op_begin"/ && number("op") > op { op = number("op") }
/"kind":"send"/ && number("rank") == dead { sent[number("op")]++ }

END { print (sent[op + 0] >= members ? "forward" : "exclude") }
