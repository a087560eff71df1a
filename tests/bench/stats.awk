# SPDX-License-Identifier: MIT
#
# The measurements of all rounds, for report.awk and plot.awk: lines
# "who op ranks bytes time_us" of the first file go into times[]; a measurement
# is named by its first four words.

FNR == NR {
    times[$1 " " $2 " " $3 " " $4, ++runs[$1 " " $2 " " $3 " " $4]] = $5 + 0
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

# Fills sorted[] with the times of a measurement; how many.
function sorted_times(name, sorted,    i) {
    for (i = 1; i <= runs[name]; i++)
        sorted[i] = times[name, i]
    sort(sorted, runs[name])
    return runs[name] + 0
}

# The median of the rounds, or with -v best_counts=1 the least: a machine that others
# use too makes rounds slower, never faster. 0 when it was never measured.
function typical(name,    sorted, count, middle) {
    count = sorted_times(name, sorted)
    middle = int((count + 1) / 2)
    if (count == 0)
        return 0
    if (best_counts)
        return sorted[1]
    return count % 2 ? sorted[middle] : (sorted[middle] + sorted[middle + 1]) / 2
}

# How far the rounds lie apart, in percent of what is typical.
function spread(name,    sorted, count) {
    count = sorted_times(name, sorted)
    return count ? 100 * (sorted[count] - sorted[1]) / typical(name) : 0
}

function size_text(bytes) {
    if (bytes >= 1048576 && bytes % 1048576 == 0)
        return bytes / 1048576 "M"
    if (bytes >= 1024 && bytes % 1024 == 0)
        return bytes / 1024 "K"
    return sprintf("%d", bytes)
}
