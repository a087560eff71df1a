# SPDX-License-Identifier: MIT
#
# Prints the value of the formula in $FORMULA, or its mistake with status 1. Needs expr.awk before it: -v values=FILE -f expr.awk -f calc.awk

BEGIN {
    load(values)
    result = evaluate(ENVIRON["FORMULA"])
    if (fault == "")
        printf "%.12g\n", result
    else
        print fault
    exit fault != ""
}
