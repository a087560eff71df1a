# SPDX-License-Identifier: MIT
#
# Prints the value of the formula in $FORMULA, or what is wrong with it, and then
# the status is 1. Needs expr.awk before it: -v values=FILE -f expr.awk -f calc.awk

BEGIN {
    load(values)
    result = evaluate(ENVIRON["FORMULA"])
    if (fault == "")
        printf "%.12g\n", result
    else
        print fault
    exit fault != ""
}
