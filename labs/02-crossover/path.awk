# SPDX-License-Identifier: MIT
#
# Reads a plan as JSON lines, one transfer per line. Prints the bytes of the busiest
# rank of each step, added up over the steps. -v size=BYTES of the buffer.

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
