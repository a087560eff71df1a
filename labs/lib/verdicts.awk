# SPDX-License-Identifier: MIT
#
# Prints the output of facts.awk for a learner, part by part. Needs text.awk:
#
#   awk -v commands=FILE [-v brief=1] [-v colour=1] -f text.awk -f verdicts.awk FILE
#
# `commands` has the command of each measurement, after its name and a tab; the
# command that repeats a fact is that of its name's first word. The status is 0 if
# all facts hold, 1 if one fails, and 2 if one is unknown and none fails. With
# brief=1 only the facts that do not hold are printed, and the summary.

BEGIN {
    FS = "\t"
    while ((getline line <commands) > 0) {
        split(line, column, "\t")
        command[column[1]] = column[2]
    }
}

{
    count[$1]++
    total += $2
    if ($1 == "PASS")
        points += $2
    if (brief) {
        if ($1 != "PASS")
            wrap($7 ": " $4 " " $5 ", got " $6, 17, sprintf("%-7s", $1))
        next
    }
    if ($3 != part)
        printf "\npart %s\n", part = $3
    printf "  %s  %s\n", painted(sprintf("%-7s", $1), $1), $7
    if ($1 == "PASS") {
        wrap($4 " is " $6 ($5 == $6 ? "" : ", expected " $5), 11)
        next
    }
    wrap($4 " " $5, 21, "expected  ")
    wrap($6, 21, "got       ")
    wrap($8, 21, "look at   ")
    name = $4
    sub(/[.].*/, "", name)
    if (name in command)
        printf "%21s%s\n", "repeat    ", command[name]
}

END {
    verdict = count["FAIL"] ? "FAIL" : count["UNKNOWN"] || !NR ? "UNKNOWN" : "PASS"
    if (!brief)
        printf "\n"
    printf "%s  %d of %d facts hold, %d of %d points\n", painted(verdict, verdict), \
        count["PASS"], NR, points, total
    exit verdict == "FAIL" ? 1 : verdict == "UNKNOWN" ? 2 : 0
}
