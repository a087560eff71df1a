# SPDX-License-Identifier: MIT
#
# Reads rows of collrun sim as csv, with their headers. Draws the bandwidth of each
# row and the roof, on a logarithmic axis. -v alpha=US -v rate=BYTES_PER_US.
function column(value) { return int(7 * log(value > 1 ? value : 1) + 0.5) }

$1 == "algo" {
    for (i = 1; i <= NF; i++)
        at[$i] = i
    next
}

{
    size = $at["bytes"]
    achieved = size / $at["time_us"]
    roof = size / alpha < rate ? size / alpha : rate
    printf "%8d  %7.1f  %*so", size, achieved, column(achieved), ""
    if (column(roof) > column(achieved))
        printf "%*s|", column(roof) - column(achieved) - 1, ""
    print ""
}
