# SPDX-License-Identifier: MIT
#
# Judges facts by measurements. Needs expr.awk before it:
#
#   awk -v values=FILE -f expr.awk -f facts.awk facts
#
# A fact is one line, and below it, indented, where to look if it does not hold:
#
#   eq  ring.messages  2*(P-1)*P  "every rank sends once a step"  2pt  run
#       the arrows of one step: build/collrun plan allreduce --algo ring --draw
#
# verb       holds when the value called NAME
# eq         is the formula's (up to 1 in a thousand million)
# le, ge     is at most, at least the formula's
# within     is near it: within NAME FORMULA 10% "..."
# zero       is 0 (without a formula)
# order      has these words in this order, with any others between them:
#            order NAME kill suspect resume "..."
#
# A * in NAME matches anything: the fact must hold for every matching value. A
# missing measurement makes a fact UNKNOWN.
#
# Prints one line per fact, with tabs between verdict, points, part, name, expected,
# got, text, and where to look.

# Finds the values that NAME matches, sorted by name. Returns their number.
function find(name,    pattern, n, i, other) {
    split("", names)
    if (name in value) {
        names[1] = name
        return 1
    }
    pattern = name
    gsub(/[.]/, "[.]", pattern)
    if (!gsub(/[*]/, ".*", pattern))
        return 0
    for (other in value)
        if (other ~ ("^" pattern "$")) {
            for (i = ++n; i > 1 && names[i - 1] > other; i--)
                names[i] = names[i - 1]
            names[i] = other
        }
    return n
}

function in_order(text, words,    have, want, h, w, n, m) {
    n = split(text, have, " ")
    m = split(words, want, " ")
    w = 1
    for (h = 1; h <= n && w <= m; h++)
        if (have[h] == want[w])
            w++
    return w > m
}

function equal(a, b,    off) {
    off = a > b ? a - b : b - a
    return off <= 1e-9 * (b < 0 ? -b : b) + 1e-12
}

function holds(verb, text, wanted, percent,    got, off) {
    if (verb == "order")
        return in_order(text, wanted)
    got = number(text)
    if (fault != "")
        return 0
    off = got > wanted ? got - wanted : wanted - got
    if (verb == "eq" || verb == "zero")
        return equal(got, wanted)
    if (verb == "le")
        return got <= wanted || equal(got, wanted)
    if (verb == "ge")
        return got >= wanted || equal(got, wanted)
    return off <= percent / 100 * (wanted < 0 ? -wanted : wanted)
}

# "within x F 10%": the share is the last word before the text.
function share(    n, word) {
    n = split(formula, word, " ")
    if (verb != "within" || word[n] !~ /^[0-9.]+%$/)
        return 0
    sub(/ *[0-9.]+%$/, "", formula)
    return word[n] + 0
}

function verdict_of(    n, i, wanted, percent) {
    percent = share()
    expected = formula
    got = "-"
    if (verb == "zero")
        formula = expected = "0"
    if (verb != "order") {
        wanted = evaluate(formula)
        if (fault != "") {
            got = fault
            return missing != "" ? "UNKNOWN" : "FAIL"
        }
        expected = (verb == "le" ? "at most " : verb == "ge" ? "at least " : "") \
            shown(wanted) (verb == "within" ? " within " percent "%" : "")
    } else
        wanted = formula
    n = find(name)
    if (!n) {
        got = name " was not measured"
        return "UNKNOWN"
    }
    for (i = 1; i <= n; i++) {
        fault = ""
        got = value[names[i]]
        if (!holds(verb, got, wanted, percent)) {
            if (n > 1)
                got = names[i] " " got
            return "FAIL"
        }
    }
    return "PASS"
}

function judge(    verdict) {
    if (fact == "")
        return
    verdict = verdict_of()
    print verdict "\t" points "\t" part "\t" name "\t" expected "\t" got "\t" \
        text "\t" look
    fact = ""
}

function bad(why) {
    print FILENAME ":" FNR ": " why >"/dev/stderr"
    status = 65
    exit
}

BEGIN { load(values) }

/^[ \t]*(#|$)/ { next }

/^[ \t]/ {
    sub(/^[ \t]+/, "")
    look = look == "" ? $0 : look " " $0
    next
}

{
    judge()
    fact = $0
    look = ""
    if (split(fact, piece, "\"") != 3)
        bad("a fact must have one text in quotes")
    text = piece[2]
    if (split(piece[3], word, " ") != 2 || word[1] !~ /^[0-9]+pt$/)
        bad("after its text a fact must have points, such as 2pt, and a part")
    points = word[1] + 0
    part = word[2]
    verb = $1
    name = $2
    formula = piece[1]
    sub(/^[^ \t]+[ \t]+[^ \t]+[ \t]*/, "", formula)
    sub(/[ \t]+$/, "", formula)
    if (verb !~ /^(eq|le|ge|within|zero|order)$/)
        bad("unknown verb \"" verb "\"; use eq, le, ge, within, zero or order")
    if ((formula == "") != (verb == "zero"))
        bad(verb == "zero" ? "zero has no formula" : verb " must have a formula")
}

END {
    if (status)
        exit status
    judge()
}
