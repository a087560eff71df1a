# SPDX-License-Identifier: MIT
#
# Notes the loss of the learner's choice in every case. Reads lines "P SIZE N CHOICE"
# from the first file, then lines "P SIZE ALGORITHM US", grouped by case.

# Judges the complete case, before the next one begins.
function judge(    name, loss) {
    name = choice[ranks, size]
    if (!(name in time)) {
        printf "    choose(%d, %d, %d) is \"%s\"\n", ranks, size, N, name
        unknown++
    } else {
        loss = 100 * (time[name] / time[best] - 1)
        sum += loss
        cases++
        if (loss > 5)
            printf "    %5d %9d %5.1f N  %-19s %-19s %4.0f %%\n", ranks, size,
                size / N, name, best, loss
        if (loss > worst)
            worst = loss
    }
    split("", time)
    best = ""
}

BEGIN { printf "    ranks     bytes          choose()            best\n" }

NR == FNR {
    N = $3
    choice[$1, $2] = $4
    next
}

best != "" && ($1 != ranks || $2 != size) { judge() }

{
    ranks = $1
    size = $2
    time[$3] = $4
    if (best == "" || $4 < time[best])
        best = $3
}

END {
    if (best != "")
        judge()
    printf "choose.unknown %d\n", unknown >>values
    printf "choose.cases %d\n", cases >>values
    printf "choose.worst %.3f\n", worst >>values
    if (cases)
        printf "choose.mean %.3f\n", sum / cases >>values
}
