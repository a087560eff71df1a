# SPDX-License-Identifier: MIT
#
# The measurements for the yardstick of a row: the words of the rows file, for
# jobs.awk and report.awk.
#
# A measurement is named "program op ranks bytes".

function named(who, op, ranks, bytes) {
    return who " " op " " ranks " " sprintf("%.0f", bytes)
}

# The powers of two around `bytes`; below 8 bytes, 8.
function size_below(bytes,    size) {
    for (size = 8; size * 2 <= bytes; size *= 2) {}
    return size
}

function size_above(bytes,    size) {
    size = size_below(bytes)
    return size < bytes ? size * 2 : size
}

# Fills needs[1..] with the measurements of a row's yardstick; returns their
# number.
function yardstick_needs(needs, op, ranks, bytes, ours, word,
                         parts, count, i, at) {
    if (word ~ /^=/)
        return 0
    if (word == "near") {
        needs[1] = named(ours, op, ranks, size_below(bytes))
        needs[2] = named(ours, op, ranks, size_above(bytes))
        return 2
    }
    if (word ~ /^like-/) {
        needs[1] = named(ours, substr(word, 6), ranks, bytes)
        return 1
    }
    count = split(word, parts, "|")
    for (i = 1; i <= count; i++) {
        at = index(parts[i], "@")
        needs[i] = at ? named(substr(parts[i], 1, at - 1), op, \
                              substr(parts[i], at + 1), bytes) \
                      : named(parts[i], op, ranks, bytes)
    }
    return count
}
