# SPDX-License-Identifier: MIT
#
# Prints sparse rows as LibSVM: `per` features of `features`, equally likely, or with
# -v zipf=1 by Zipf's law: feature k as often as 1/k. Some features count for the
# label 1, the others against it.
#
#     awk -v rows=2000 -v features=200 -v per=3 -v zipf=1 -f rows.awk > rows
function draw(    u, low, high, middle) {
    if (!zipf)
        return 1 + int(rand() * features)
    u = rand() * sum[features]
    low = 1
    high = features
    while (low < high) {
        middle = int((low + high) / 2)
        if (sum[middle] < u)
            low = middle + 1
        else
            high = middle
    }
    return low
}

function row(    i, j, key, count, line, votes) {
    split("", has)
    for (i = 0; i < per; i++)
        has[draw()] = 1
    for (key in has) {
        for (j = count++; j > 0 && sorted[j - 1] > key + 0; j--)
            sorted[j] = sorted[j - 1]
        sorted[j] = key + 0
        votes += key * 7919 % 13 < 6.5 ? 1 : -1
    }
    for (i = 0; i < count; i++)
        line = line " " sorted[i] ":1"
    return (votes > 0) line
}

BEGIN {
    srand(seed + 1)
    for (k = 1; k <= features; k++)
        sum[k] = sum[k - 1] + 1 / k
    for (r = 0; r < rows; r++)
        print row()
}
