# SPDX-License-Identifier: MIT
#
# Reads predict.txt. A question is a line, which goes on in the indented lines
# below it, and has these parts between bars:
#
#   id | question | unit | tolerance | formula in words, source | expression
#      | what explains the number, in a sentence or two
#
# The id is the name of the value that the run measures. The tolerance (5%, or 0)
# is how near a prediction is to be called right. What comes out is one line a
# question, with tabs between the seven parts.

function finish(    n, i, part) {
    if (question == "")
        return
    n = split(question, part, "|")
    if (n != 7) {
        print FILENAME ": a question has 7 parts, not " n ": " question \
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
