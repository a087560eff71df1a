# SPDX-License-Identifier: MIT
#
# Reads predict.txt. A question is a line that continues in the indented lines below
# it, and has these parts between bars:
#
#   id | question | unit | tolerance | formula in words, source | expression
#      | explanation of the number, in a sentence or two
#
# The id is the name of the value that the run measures. The tolerance (5%, or 0)
# is the largest error of a right prediction. Prints one line per question, with
# tabs between the seven parts.

function finish(    n, i, part) {
    if (question == "")
        return
    n = split(question, part, "|")
    if (n != 7) {
        print FILENAME ": a question must have 7 parts, not " n ": " question \
            >"/dev/stderr"
        exit 65
    }
    for (i = 1; i <= n; i++) {
        gsub(/^[ \t]+|[ \t]+$/, "", part[i])
        printf "%s%s", part[i], i < n ? "\t" : "\n"
    }
    question = ""
}

/^[ \t]*(#|$)/ { next }
/^[ \t]/ { sub(/^[ \t]+/, ""); question = question " " $0; next }
{ finish(); question = $0 }
END { finish() }
