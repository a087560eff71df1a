# SPDX-License-Identifier: MIT
#
# Turns the events of a ring into a story, two lines per op:
#
#     begin OP MEMBER...   the members that work on it
#     done OP MEMBER...    the members whose work is in the result
#
# A member that began the op works on it. The result contains the members that
# ended the op, and a dead one if the decision was forward.

function number(name) {
    if (!match($0, "\"" name "\":[0-9]+"))
        return -1
    return substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3) + 0
}

/"kind":"op_begin"/ { op = number("op"); began[op, number("rank")] = 1 }
/"kind":"op_end"/ { ended[number("op"), number("rank")] = 1 }
/"kind":"decision"/ { forward[number("op")] = /"value":0[}]/ }
op > last { last = op }

END {
    for (op = 0; op < last; op++) { # the last one may be under way
        line = "begin " op
        result = "done " op
        for (m = 0; m < 64; m++) {
            if ((op, m) in began)
                line = line " " m
            if ((op, m) in ended || (forward[op] && (op, m) in began))
                result = result " " m
        }
        print line
        print result
    }
}
