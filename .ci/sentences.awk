# SPDX-License-Identifier: MIT
#
# Reads the sentences and string literals of the tree, for .ci/prose and
# tests/tools/messages:
#
#   awk -f .ci/sentences.awk -f CONSUMER FILE...
#
# Man pages, Markdown and the texts of the labs are read whole; of C the comments
# and the string literals, of scripts the comments, the quoted strings and the
# here documents, of bats files the comments and the names of the tests. Code
# blocks and the strings of tests are left out. The consumer defines two functions:
#
#   sentence()    words[1..count] in lower case, without punctuation, but with "," and
#                 ";" as words. spelled[] has them as written, at[] their lines.
#                 asked is true of a question, label of the label of a list item.
#   literal(text, line, code)
#                 a string literal, its parts joined, and the code before it
#
# kind is man, labs, readme, headers (the comments of public headers), strings,
# comments or tests.

function finish() {
    if (count)
        sentence()
    count = asked = 0
}
function add(bare, as, line) {
    words[++count] = bare
    spelled[count] = as
    at[count] = line
}
function word(w, line,    bare, last) {
    bare = tolower(w)
    sub(/^[("*_<\[`\047]+/, "", bare)
    last = bare
    sub(/[^a-z0-9%_)\]-]*[)\]]*[^a-z0-9%_-]*$/, "", bare)
    last = substr(last, length(bare) + 1)
    if (bare != "")
        add(bare, w, line)
    else if (count)
        spelled[count] = spelled[count] w
    if (last ~ /[,;:]/)
        add(last ~ /;/ ? ";" : ",", "", line)
    if (last ~ /\?/)
        asked = 1
    if (last ~ /[.?!]/ && bare !~ /^(e\.g|i\.e|vs|cf|etc|al|sec|fig)$/)
        finish()
}
function text(string, line,    n, i, w) {
    n = split(string, w, /[ \t]+/)
    for (i = 1; i <= n; i++)
        if (w[i] != "")
            word(w[i], line)
}

# ---- man pages ----

function manual(    t) {
    if (/^\.(Bd|Ed|Sh)/) {
        finish()
        skip = /^\.Bd.*(literal|unfilled)/ || /^\.Sh SYNOPSIS/
        return
    }
    if (skip || /^[.\047]\\"/ || /^\.(Dd|Dt|Os|Ft|Fo|Fc|In|Fd)/)
        return
    t = $0
    gsub(/\\\(aq/, "\047", t)
    gsub(/\\-/, "-", t)
    gsub(/\\\(dq|\\&/, "", t)
    gsub(/\\\(-?>|\\\[[^]]*\]|\\\(../, "_", t)
    if (t ~ /^\./)
        macro(t)
    else
        text(t, FNR)
}
function macro(t,    n, i, w) {
    if (t ~ /^\.(Pp|It|Ss|Bl|El|D1|Dl|Nd|Rs|Re)/)
        finish()
    if (t ~ /^\.Bl/)
        return
    gsub(/ Fl -?/, "&-", t)
    n = split(substr(t, 2), w, " ")
    for (i = 1; i <= n; i++)
        if (w[i] ~ /^[.,;:?!)]$/ && count) {
            if (w[i] ~ /[.?!]/) {
                asked = w[i] == "?"
                spelled[count] = spelled[count] w[i]
                finish()
            } else
                add(w[i] == ";" ? ";" : ",", w[i], FNR)
        } else if (w[i] !~ /^[A-Z][a-z]$/)
            word(w[i], FNR)
    if (t ~ /^\.(It|Ss|D1|Dl|Nd)/) {
        label = t ~ /^\.(It|Ss)/
        finish()
        label = 0
    }
}

# ---- Markdown and the texts of the labs ----

function markdown(    t, n, i, cell) {
    if (/^ *```/) {
        finish()
        skip = !skip
    }
    if (skip || /^ *```/ || /^    / && blank)
        return
    blank = /^$/
    if (blank || /^ *([*#-]|[0-9]+\.) / || /^\|/)
        finish()
    t = $0
    gsub(/`[^`]*`/, "X", t)
    gsub(/\]\([^)]*\)/, "", t)
    sub(/^ *([*#-]+|[0-9]+\.) /, "", t)
    n = split(t, cell, /\|/)
    for (i = 1; i <= n; i++) {
        text(cell[i], FNR)
        if (/^[|#]/)
            finish()
    }
}
function lab_text(    t) {
    t = $0
    if (/^ *$/ || /^[^ ]/ && file !~ /hints/ || /^ *\| / || file ~ /facts$/)
        finish()
    if (file ~ /facts$/ && /^[a-z]/)
        t = match(t, /"[^"]*"/) ? substr(t, RSTART, RLENGTH) : ""
    sub(/^[ |#]+/, "", t)
    gsub(/`[^`]*`/, "X", t)
    text(t, FNR)
}

# ---- C ----

# The literals since the last other token, which C joins, are complete.
function flush(    i, n, part, old) {
    if (literal_text == "")
        return
    finish()
    literal(literal_text, literal_line, before)
    old = kind
    kind = "strings"
    n = split(literal_text, part, /\\[nt]/)
    for (i = 1; i <= n; i++) {
        text(part[i], literal_line)
        finish()
    }
    kind = old
    literal_text = ""
}
function code(t) {
    if (t !~ /[^ \t]/)
        return
    flush()
    before = before t
    sub(/.*[;{}]/, "", before)
}
function comment(t) {
    sub(/^[ \t*]+/, "", t)
    if (t == "")
        finish()
    text(t, FNR)
}
function source(    t, end, token) {
    if (/^# *include/ || /SPDX-/)
        return
    for (t = $0; t != "";) {
        if (commented) {
            end = index(t, "*/")
            token = end ? substr(t, 1, end - 1) : t
            t = end ? substr(t, end + 2) : ""
            comment(token)
            commented = !end
            if (end)
                finish()
            continue
        }
        if (!match(t, /\/[*\/]|"([^"\\]|\\.)*"|\047([^\047\\]|\\.)*\047/)) {
            code(t)
            return
        }
        token = substr(t, RSTART, RLENGTH)
        end = RSTART + RLENGTH
        code(substr(t, 1, RSTART - 1))
        t = substr(t, end)
        if (token ~ /^"/ && file !~ /^tests/) {
            if (literal_text == "")
                literal_line = FNR
            literal_text = literal_text substr(token, 2, length(token) - 2)
        } else if (token == "/*")
            commented = 1
        else if (token == "//") {
            comment(t)
            t = ""
        }
    }
}

# ---- scripts ----

function script(    t, quoted) {
    t = $0
    if (here != "") {
        if ($1 == here)
            here = ""
        else
            in_strings(t)
        return
    }
    if (/^[ \t]*#/) {
        sub(/^[ \t]*#+:?/, "", t)
        if (!/SPDX-|shellcheck|^#!/)
            comment(t)
        return
    }
    finish()
    if (/^@test/) {
        text(t, FNR)
        finish()
    }
    if (file ~ /awk$/)
        return
    if (match(t, /<<-?[\047"]?[A-Z]+/)) {
        here = substr(t, RSTART, RLENGTH)
        gsub(/[^A-Z]/, "", here)
    }
    while (match(t, /"[^"]*"|\047[^\047]*\047/)) {
        quoted = substr(t, RSTART + 1, RLENGTH - 2)
        t = substr(t, RSTART + RLENGTH)
        in_strings(quoted)
    }
}
function in_strings(t,    old) {
    if (file ~ /^tests/)
        return
    old = kind
    kind = "strings"
    text(t, FNR)
    finish()
    kind = old
}

FNR == 1 {
    finish()
    flush()
    file = FILENAME
    skip = commented = blank = 0
    here = before = ""
    kind = file ~ /^man/ ? "man" : file ~ /^lib\/include/ ? "headers" : \
        file ~ /^labs.*(md|txt|conf|facts)$/ ? "labs" : file ~ /README/ ? "readme" : \
        file ~ /^tests/ ? "tests" : "comments"
}
file ~ /\.[1-8]$/ { manual(); next }
file ~ /\.md$/ { markdown(); next }
file ~ /\.(txt|conf)$|facts$/ { lab_text(); next }
file ~ /\.(c|h|cc)$/ { source(); next }
{ script() }
END { finish(); flush() }
