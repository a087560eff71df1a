# SPDX-License-Identifier: MIT
#
# Reads the folders of labs, one name a line, and the records of a learner. Prints
# one row per lab, with tabs between learner, lab, title, questions, predicted,
# right, facts, passed, points, of, minutes, verdict, has it run; or with -v list=1
# the lines of `lab list`.
#
#   awk -v labs=DIR -v folder=DIR -v learner=NAME -f rows.awk

# Reads FILE line by line: next_line sets `line` and says whether there is one.
function next_line(file) {
    if ((getline line <file) > 0)
        return 1
    close(file)
    return 0
}

function exists(file,    there) {
    there = (getline line <file) >= 0
    close(file)
    return there
}

function read_conf(file,    at) {
    split("", conf)
    while (next_line(file)) {
        at = index(line, "=")
        conf[substr(line, 1, at - 1)] = substr(line, at + 1)
    }
}

function count_matches(file, pattern,    n) {
    while (next_line(file))
        n += line ~ pattern
    return n + 0
}

# The predictions that were near the measurement.
function count_right(file,    n, column) {
    while (next_line(file)) {
        split(line, column, " ")
        n += column[5] == 1
    }
    return n + 0
}

# Minutes at work: a pause counts at most a quarter of an hour.
function minutes_spent(file,    column, last, gap, spent) {
    while (next_line(file)) {
        split(line, column, " ")
        gap = last ? column[1] - last : 0
        spent += gap < 900 ? gap : 900
        last = column[1]
    }
    return sprintf("%.0f", spent / 60)
}

# Counts the verdicts of the best check, and adds up the points of its facts.
function read_best(file,    column) {
    split("", verdicts)
    points = 0
    while (next_line(file)) {
        split(line, column, "\t")
        verdicts[column[1]]++
        if (column[1] == "PASS")
            points += column[2]
    }
    verdict = verdicts["FAIL"] ? "FAIL" : verdicts["UNKNOWN"] ? "UNKNOWN" : \
        verdicts["PASS"] ? "PASS" : "-"
}

BEGIN { OFS = "\t" }

{
    number = substr($0, 1, index($0, "-") - 1)
    record = folder "/" number "/record"
    read_conf(labs "/" $0 "/lab.conf")
    read_best(record "/best")
    predicted = count_matches(record "/predictions", ".")
    points += predicted
}

list {
    printf "%-2s %-38s %7s  %-6s %-8s %s\n", number, conf["title"], \
        conf["minutes"], conf["level"], conf["needs"], points " of " conf["points"]
    next
}

{
    print learner, $0, conf["title"], \
        count_matches(labs "/" $0 "/predict.txt", "^[^ \t#]"), predicted, \
        count_right(record "/scores"), count_matches(labs "/" $0 "/facts", "^[a-z]"), \
        verdicts["PASS"] + 0, points, conf["points"], minutes_spent(record "/log"), \
        verdict, exists(record "/scores")
}
