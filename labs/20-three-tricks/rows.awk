# SPDX-License-Identifier: MIT
#
# Prints `rows` rows as LibSVM, each with all `features`, so all threads change all
# weights. The first three features determine the label.
BEGIN {
    srand(seed)
    for (row = 0; row < rows; row++) {
        line = ""
        sum = 0
        for (j = 1; j <= features; j++) {
            value = rand() - 0.5
            sum += j <= 3 ? value : 0
            line = line sprintf(" %d:%.3f", j, value)
        }
        print (sum > 0 ? 1 : 0) line
    }
}
