# SPDX-License-Identifier: MIT
#
# Of a plan as JSON lines, a transfer a line: the bytes that the busiest rank of
# each step sends, added up over the steps; -v size is that of the buffer.

function field(name) {
    if (!match($0, "\"" name "\":[0-9]+"))
        return ""
    return substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3)
}

/"src":/ {
    step = field("step")
    sent = ++chunks[step, field("src")]
    if (sent > most[step])
        most[step] = sent
    of = field("chunks")
}

END {
    for (step in most)
        sum += most[step]
    printf "%.0f\n", sum * size / of
}
