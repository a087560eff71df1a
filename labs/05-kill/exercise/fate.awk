# fate.awk: what becomes of the op under way when a member dies?
#
#     awk -f fate.awk -v dead=2 -v at_ms=202.5 -v members=4 EVENTS.jsonl
#
# EVENTS are the events of a run without a death, one event per line:
#
#     {"time_ns":200000000,"kind":"op_begin","rank":0,"epoch":1,"op":0,...}
#     {"time_ns":200000000,"kind":"send","rank":2,"peer":3,...,"op":0,...}
#
# Print `forward` or `exclude`: the controllers' decision about the newest op
# that has begun, if member `dead` dies at `at_ms`. This version always prints
# the same answer.

function number(name) {
    if (!match($0, "\"" name "\":[0-9]+"))
        return -1
    return substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3) + 0
}

number("time_ns") > at_ms * 1e6 { next }

END { print "exclude" }
