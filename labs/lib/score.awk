# SPDX-License-Identifier: MIT
#
# Prints the rows of score.sh as a table with a total for each learner, or with
# -v csv=1 for a spreadsheet. -v many=1: there are several learners; -v me: the
# command of the driver.

function quoted(text) {
    if (text !~ /[",]/)
        return text
    gsub(/"/, "\"\"", text)
    return "\"" text "\""
}

function total() {
    printf "%-49s %9s %10s %7d\n\n", "total", "", points " of " of, minutes
    points = of = minutes = 0
}

BEGIN {
    FS = "\t"
    if (csv)
        print "learner,lab,title,questions,predicted,right,facts,passed," \
            "points,of,minutes,verdict"
}

csv {
    line = quoted($1)
    for (i = 2; i < NF; i++)
        line = line "," quoted($i)
    print line
    next
}

$1 != learner || NR == 1 {
    if (NR > 1)
        total()
    learner = $1
    if (many)
        print learner ":"
    printf "%-41s %-7s %9s %10s %7s\n", "lab", "verdict", "right", "points", \
        "minutes"
}

{
    right = $13 ? $6 " of " $4 : "-"
    printf "%-41s %-7s %9s %10s %7d\n", substr($2, 1, 2) " " substr($3, 1, 38), \
        $12, right, $9 " of " $10, $11
    points += $9
    of += $10
    minutes += $11
    begun = begun || $5 || $8 || $12 != "-"
}

END {
    if (csv || !NR)
        exit
    total()
    if (begun)
        print "right: predictions near the measurement. Points: one for each" \
            " prediction, right or wrong,\nand those of the best check."
    else
        print "No lab is started yet. Begin with: " me " start 00"
}
