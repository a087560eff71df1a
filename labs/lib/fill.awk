# SPDX-License-Identifier: MIT
#
# Fills lines of text up to the width of a terminal; an indented line stays
# unchanged. Needs text.awk before it.

function flush() {
    if (text != "")
        wrap(text, 0)
    text = ""
}

/^ / { flush(); print; next }
{ text = text " " $0 }
END { flush() }
