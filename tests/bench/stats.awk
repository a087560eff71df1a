# SPDX-License-Identifier: MIT
#
# The measurements of all rounds, for report.awk and plot.awk: lines "program op
# ranks bytes value" of the first file go into times[]; a measurement is named
# by its first four words. Values are microseconds, or see unit_of. A line
# "round N" sets the round of the following lines, for in_round[].

FNR == NR && $1 == "round" { round = $2; next }

FNR == NR {
    name = $1 " " $2 " " $3 " " $4
    times[name, ++runs[name]] = $5 + 0
    at = round ? round : runs[name]
    in_round[name, at] = $5 + 0
    rounds = at > rounds ? at : rounds
    next
}

function sort(values, count,    i, k, value) {
    for (i = 2; i <= count; i++) {
        value = values[i]
        for (k = i - 1; k > 0 && values[k] > value; k--)
            values[k + 1] = values[k]
        values[k + 1] = value
    }
}

function median(sorted, count,    middle) {
    middle = int((count + 1) / 2)
    return count % 2 ? sorted[middle] : (sorted[middle] + sorted[middle + 1]) / 2
}

# Fills sorted[] with the times of a measurement; returns their number.
function sorted_times(name, sorted,    i, count) {
    count = runs[name] + 0 # and not runs[name] itself, at which gawk 5.2 dies
    for (i = 1; i <= count; i++)
        sorted[i] = times[name, i]
    sort(sorted, count)
    return count
}

# The median of the rounds, or with -v best_counts=1 the least: other users of a
# machine make rounds slower, never faster. 0 if it was never measured.
function typical(name,    sorted, count) {
    count = sorted_times(name, sorted)
    return !count ? 0 : best_counts ? sorted[1] : median(sorted, count)
}

# The spread of the rounds, in percent of the typical value.
function spread(name,    sorted, count) {
    count = sorted_times(name, sorted)
    return typical(name) ? 100 * (sorted[count] - sorted[1]) / typical(name) : 0
}

# The least and the largest of the rounds, as JSON.
function range(name,    sorted, count) {
    count = sorted_times(name, sorted)
    return count ? sprintf("[%.3f,%.3f]", sorted[1], sorted[count]) : "null"
}

# The unit of a program's values.
function unit_of(who) {
    return who ~ /^memory-/ ? "MiB" : who ~ /^tune-/ ? "%" : "us"
}

function size_text(bytes) {
    if (bytes >= 1048576 && bytes % 1048576 == 0)
        return bytes / 1048576 "M"
    if (bytes >= 1024 && bytes % 1024 == 0)
        return bytes / 1024 "K"
    return sprintf("%d", bytes)
}
