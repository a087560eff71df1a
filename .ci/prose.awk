# SPDX-License-Identifier: MIT
#
# The habits of language to leave, looked for in each sentence: .ci/prose.

BEGIN {
    person = "(users?|readers?|people|persons?|those|anyone|one|learners?|students?" \
        "|teachers?|authors?|engineers?|programmers?)"
    # On a sentence in lower case, with a blank around each word and comma.
    habit["who"] = " who(ever)? |^ whose "
    habit["what"] = "^ what |^ (that|this) is what " \
        "| what (is|was|are|were|has|had|it|they|he|each|happens|happened|comes) "
    habit["nobody"] = " (nobody|somebody|everybody|anybody) "
    habit["a-X-a-Y"] = " an? [a-z0-9-]+ an? [a-z-]+ "
    habit["is-no"] = " (is|are|was|were|be) no [a-z]+ "
    habit["none-called"] = " no .* (called|of that name) "
    habit["anew"] = " anew "
    habit["lies"] = " (lies|lie) "
    habit["stands"] = " (stands?|stood) "
    habit["tells"] = " (tells?|told|telling) "
    habit["says"] = " (says|said) "
    habit["by-now"] = " by now "
    habit["for-good"] = " for good "
    habit["behind"] = " (behind|beside) "
    habit["semicolons"] = " ; .* ; "
    # Plain English that looks like one of them.
    fine["^ what to "]
    fine[" (stands?|stood) (for|alone) "]
    fine[" (is|are|was|were|be) no (longer|more|less|fewer|later|earlier|larger|smaller|slower|faster|better|worse) "]
    fine[" there (is|are|was|were|be|will be|can be|must be) no "]
    fine[" (lag|lags|lagging|fall|falls|fell|fallen|left) behind "]
    fine[" for good (reasons?|measure) "]
    fine[" " person " (, )?who "]
}

# The string in which match() has just found something, without its words.
function masked(string,    found) {
    found = substr(string, RSTART, RLENGTH)
    gsub(/[a-z;]/, "_", found)
    return substr(string, 1, RSTART - 1) found substr(string, RSTART + RLENGTH)
}
function hit(name, line, words) {
    printf "hit\t%s\t%s\t%d\t%s\t%s\n", kind, file, line, name, words
}
function find(name, string,    from, start) {
    while (match(string, habit[name])) {
        from = RSTART > 30 ? RSTART - 30 : 1
        start = substr(string, 1, RSTART)
        hit(name, at[gsub(/ /, " ", start)], \
            substr(flat, from, RSTART + RLENGTH + 30 - from))
        string = masked(string)
    }
}
function sentence(    i, name, length_now, rest) {
    flat = " "
    for (i = 1; i <= count; i++) {
        flat = flat words[i] " "
        length_now += words[i] ~ /[a-z0-9]/
    }
    rest = flat
    for (name in fine)
        while (match(rest, name))
            rest = masked(rest)
    for (name in habit)
        if (!asked || name !~ /^wh/)
            find(name, name == "none-called" ? flat : rest)
    if (kind == "man" || kind == "labs") {
        printf "sentence\t%s\t%d\n", kind, length_now
        if (length_now > 30)
            hit("long", at[1], length_now " words: " substr(flat, 2, 60) "...")
    }
}
function literal(string, line, before_it) {
}
