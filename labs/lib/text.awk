# SPDX-License-Identifier: MIT
#
# Text for a terminal of 80 columns.

# Prints a text broken into lines, all of them indented; the label comes
# before the first, at the right end of the indent.
function wrap(text, indent, label,    n, i, word, line) {
    n = split(text, word, " ")
    for (i = 1; i <= n + 1; i++) {
        if (i > n || line != "" && \
            length(line) + length(word[i]) + 1 > 78 - indent) {
            printf "%*s%s\n", indent, label, line
            label = ""
            line = word[i]
        } else
            line = line == "" ? word[i] : line " " word[i]
    }
}

# The text in the colour of a verdict, if -v colour=1.
function painted(text, verdict) {
    if (!colour)
        return text
    return "\033[" (verdict == "PASS" ? 32 : verdict == "FAIL" ? 31 : 33) "m" \
        text "\033[m"
}
