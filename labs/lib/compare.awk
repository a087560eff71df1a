# SPDX-License-Identifier: MIT
#
# After a run: prints prediction, measurement, the formula's value, and the gap.
# Needs text.awk and expr.awk before it:
#
#   awk -v values=FILE -v predicted=FILE -v scores=FILE [-v colour=1] ... QUESTIONS
#
# QUESTIONS is the output of questions.awk. The file `scores` receives lines "ID
# PREDICTED MEASURED FORMULA RIGHT". Status 1: a measurement does not agree with its
# formula; 2: a measurement is missing.

function distance(a, b) { return a > b ? a - b : b - a }

# The error of a prediction, as text.
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
        wrap("It was not measured, because the run ended early.", 4)
        status = 2
        next
    }
    real = number(value[id])
    right = near(guess[id], real, $4)
    # Padded before it gets its colour: colours have no width.
    cell = sprintf("%12s", gap(guess[id], real))
    printf "%-20s %14s %14s %14s %s\n", id, shown(guess[id]), shown(real), \
        shown(theory), painted(cell, right ? "PASS" : "")
    wrap($5, 4)
    wrap($7, 4)
    if (!near(real, theory, $4)) {
        wrap(painted("The measurement does not agree with the formula.", "FAIL"), 4)
        if (!status)
            status = 1
    }
    print id, shown(guess[id]), shown(real), shown(theory), right >scores
}

END { exit status }
