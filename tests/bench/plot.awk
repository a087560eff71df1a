# SPDX-License-Identifier: MIT
#
# The measurements as a drawing: one row of panels per operation, one panel per
# number of ranks, first inside the host, then over loopback. A panel shows
# microseconds over bytes, both logarithmic. The thick line is Gradwire, the
# dashed one the best peer, and the thin one the ideal (shm_ideal), or, over
# loopback, gradwire's ipc.
#
#   awk -f stats.awk -f plot.awk TIMES ROWS >FILE.svg

{ sizes[$2, $3, $4]; known_size[$4]; known_op[$2] }

function log10(x) { return log(x) / log(10) }

# The least of the median times of the programs; 0: none.
function best(programs, op, ranks, bytes,    who, count, i, us, least) {
    count = split(programs, who, " ")
    for (i = 1; i <= count; i++) {
        us = typical(who[i] " " op " " ranks " " bytes)
        if (us && (!least || us < least))
            least = us
    }
    return least
}

function x_of(bytes) {
    return left + (log(bytes) - log(x_least)) / (log(x_most) - log(x_least)) * wide
}

function y_of(us) {
    return top + high - (log10(us) - y_least) / (y_most - y_least) * high
}

# Fits whole decades around all points of a panel; returns whether there are
# any.
function fit(op, ranks, first, second, third,    i, us, bytes) {
    y_least = 99
    y_most = -99
    for (i = 1; i <= size_count; i++) {
        bytes = size[i]
        us = best(first, op, ranks, bytes)
        if (!us)
            continue
        grow(us)
        grow(best(second, op, ranks, bytes))
        grow(best(third, op, ranks, bytes))
    }
    return y_least < y_most
}

function grow(us,    low) {
    if (!us)
        return
    low = int(log10(us) + 100) - 100
    y_least = low < y_least ? low : y_least
    y_most = low + 1 > y_most ? low + 1 : y_most
}

function line(programs, op, ranks, style,    i, us, points, x, y) {
    for (i = 1; i <= size_count; i++) {
        us = best(programs, op, ranks, size[i])
        if (!us || !((op, ranks, size[i]) in sizes))
            continue
        x = x_of(size[i])
        y = y_of(us)
        points = points sprintf(" %.1f,%.1f", x, y)
        printf "<circle class=\"%s dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"2\"/>\n", \
            style, x, y
    }
    if (points)
        printf "<polyline class=\"%s\" points=\"%s\"/>\n", style, \
            substr(points, 2)
}

function text(x, y, anchor, words) {
    printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, \
        anchor, words
}

function grid(    decade, bytes) {
    printf "<rect class=\"frame\" x=\"%d\" y=\"%d\" width=\"%d\" " \
        "height=\"%d\"/>\n", left, top, wide, high
    for (decade = y_least; decade <= y_most; decade++) {
        printf "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", left, \
            left + wide, y_of(10 ^ decade), y_of(10 ^ decade)
        text(left - 4, y_of(10 ^ decade) + 3, "end", 10 ^ decade)
    }
    for (bytes = 1024; bytes <= x_most; bytes *= 128)
        if (bytes >= x_least) {
            printf "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n", \
                x_of(bytes), x_of(bytes), top, top + high
            text(x_of(bytes), top + high + 11, "middle", size_text(bytes))
        }
}

function panel(op, wire, ranks, column,    peers, third) {
    peers = wire == "shm" ? "openmpi mpich" : "openmpi-tcp gloo"
    third = wire == "shm" ? "ideal" : "ipc"
    left = 50 + column * (wide + 50)
    if (!fit(op, ranks, wire, peers, third))
        return 0
    grid()
    text(left + 4, top - 4, "start", op ", " wire ", " ranks " ranks")
    line(third, op, ranks, "third")
    line(peers, op, ranks, "peer")
    line(wire, op, ranks, "own")
    return 1
}

function begin(ops) {
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" " \
        "font-family=\"sans-serif\" font-size=\"9\">\n", \
        50 + 5 * (wide + 50), 50 + ops * (high + 40)
    print "<style>polyline{fill:none;stroke-width:1.2}line{stroke:#ddd}" \
        ".frame{fill:none;stroke:#999}.own{stroke:#c0392b;stroke-width:2.4}" \
        ".peer{stroke:#2c3e8f;stroke-dasharray:5 3}.third{stroke:#27864f}" \
        ".dot{fill:#fff;stroke-dasharray:none;stroke-width:1}</style>"
    print "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>"
    text(50, 16, "start", "microseconds over bytes; red gradwire, blue the " \
        "best peer, green what is possible (tcp: gradwire over ipc)")
}

END {
    wide = 190
    high = 120
    x_least = 8
    x_most = 67108864
    for (word in known_size)
        if (word + 0 >= x_least && word + 0 <= x_most)
            size[++size_count] = word + 0
    sort(size, size_count)
    count = split("broadcast reduce allreduce gather scatter allgather " \
        "reduce_scatter alltoall", ops, " ")
    for (i = 1; i <= count; i++)
        drawn += ops[i] in known_op
    begin(drawn)
    top = 50
    for (i = 1; i <= count; i++) {
        drawn = panel(ops[i], "shm", 2, 0) + panel(ops[i], "shm", 4, 1) + \
            panel(ops[i], "shm", 8, 2) + panel(ops[i], "tcp", 2, 3) + \
            panel(ops[i], "tcp", 4, 4)
        top += drawn ? high + 40 : 0
    }
    print "</svg>"
}
