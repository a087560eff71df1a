# SPDX-License-Identifier: MIT
#
# After a run: predicted, measured, the formula's value, and the gap. Needs
# text.awk and expr.awk before it:
#
#   awk -v values=FILE -v predicted=FILE -v scores=FILE [-v colour=1] ... QUESTIONS
#
# QUESTIONS is what questions.awk prints. The file `scores` receives "ID PREDICTED
# MEASURED FORMULA RIGHT" a line. Status 1: what was measured is not what the
# formula says; 2: something was not measured.

function distance(a, b) { return a > b ? a - b : b - a }

# How far a prediction is off, for people.
function gap(guess, real) {
    if (distance(guess, real) <= 1e-9 * distance(real, 0))
        return "none"
    if (real == 0 || guess / real >= 10)
        return sprintf("%+.6g", guess - real)
    return sprintf("%+.1f %%", 100 * (guess / real - 1))
}

function near(a, b, tolerance) {
    return distance(a, b) <= \
        (tolerance ~ /%$/ ? tolerance / 100 * distance(b, 0) : tolerance) + \
        1e-9 * distance(b, 0)
}

BEGIN {
    FS = "\t"
    load(values)
    while ((getline line <predicted) > 0) {
        split(line, word, " ")
        guess[word[1]] = word[2]
    }
    printf "" >scores
    printf "\n%-20s %14s %14s %14s %12s\n", "", "predicted", "measured", \
        "formula", "gap"
}

{
    id = $1
    theory = evaluate($6)
    if (fault != "") {
        print FILENAME ": " id ": " fault >"/dev/stderr"
        status = 2
        next
    }
    if (!(id in value)) {
        printf "%-20s %14s %14s %14s\n", id, shown(guess[id]), "-", shown(theory)
        wrap("It was not measured: the run was cut short.", 4)
        status = 2
        next
    }
    real = number(value[id])
    right = near(guess[id], real, $4)
    # Padded before it is painted: colours have no width.
    cell = sprintf("%12s", gap(guess[id], real))
    printf "%-20s %14s %14s %14s %s\n", id, shown(guess[id]), shown(real), \
        shown(theory), painted(cell, right ? "PASS" : "")
    wrap($5, 4)
    wrap($7, 4)
    if (!near(real, theory, $4)) {
        wrap(painted("What was measured is not what the formula says.", "FAIL"), 4)
        if (!status)
            status = 1
    }
    print id, shown(guess[id]), shown(real), shown(theory), right >scores
}

END { exit status }
