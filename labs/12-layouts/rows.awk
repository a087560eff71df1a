# SPDX-License-Identifier: MIT
#
# Prints rows for training, as LibSVM: 32 numbers between 0 and 1. The label is the
# index of the largest of four sums. Set rows, features and seed by -v.
#
#     awk -v rows=512 -v seed=1 -f rows.awk > rows
BEGIN {
    rows = rows ? rows : 512
    features = features ? features : 32
    state = 48271 + seed
    for (row = 0; row < rows; row++) {
        line = ""
        split("0 0 0 0", sum, " ")
        for (j = 1; j <= features; j++) {
            state = state * 16807 % 2147483647
            value = state / 2147483647
            line = line sprintf(" %d:%.3f", j, value)
            sum[j % 4 + 1] += value
        }
        best = 1
        for (c = 2; c <= 4; c++)
            if (sum[c] > sum[best])
                best = c
        print (best - 1) line
    }
}
