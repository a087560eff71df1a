# SPDX-License-Identifier: MIT
#
# Turns the tools' JSON lines into lines "NAME VALUE", the only thing that facts
# and predictions look at:
#
#   awk -v name=ring -f json.awk ring.jsonl
#
#   {"rounds":6,"nodes":[{"node":0}]}   ring.rounds 6
#                                       ring.nodes.0.node 0
#
# true is 1, false is 0, and null is not said. With -v by=algo (several fields
# have commas between them) the values of these fields are part of the names, so
# that rows of a table do not cover each other: sim.ring.rounds. Of lines with the
# same names the later wins. Where a line says "partial":true it was cut short,
# and only its status counts.

function add(key, text) {
    keys[++found] = key
    texts[key] = text
}

# The string at the front of `rest`, without its quotes.
function string(    text) {
    if (!match(rest, /^"([^"\\]|\\.)*"/))
        return broken()
    text = substr(rest, 2, RLENGTH - 2)
    rest = substr(rest, RLENGTH + 1)
    gsub(/\\n|\\t/, " ", text)
    gsub(/\\"/, "\"", text)
    gsub(/\\\\/, "\\", text)
    return text
}

function broken() {
    rest = ""
    return ""
}

function next_is(character) {
    if (substr(rest, 1, 1) != character)
        return 0
    rest = substr(rest, 2)
    return 1
}

# Takes one value; what it holds is called `path` and, inside, path.key.
function take(path,    key, i, first) {
    if (next_is("{")) {
        while (rest != "" && !next_is("}")) {
            key = string()
            if (!next_is(":"))
                return broken()
            take(path == "" ? key : path "." key)
            next_is(",")
        }
    } else if (next_is("[")) {
        for (i = 0; rest != "" && !next_is("]"); i++) {
            take(path "." i)
            next_is(",")
        }
    } else if (substr(rest, 1, 1) == "\"")
        add(path, string())
    else if (match(rest, /^[^],}]+/)) {
        first = substr(rest, 1, RLENGTH)
        rest = substr(rest, RLENGTH + 1)
        if (first != "null")
            add(path, first == "true" ? 1 : first == "false" ? 0 : first)
    } else
        broken()
}

BEGIN { fields = split(by, field, ",") }

{
    split("", keys)
    split("", texts)
    found = 0
    rest = $0
    take("")
    prefix = name
    for (i = 1; i <= fields; i++)
        if (field[i] in texts) {
            key = texts[field[i]]
            gsub(/[^A-Za-z0-9_]/, "_", key)
            prefix = prefix "." key
        }
    for (i = 1; i <= found; i++)
        if (!texts["partial"] || keys[i] == "status" || keys[i] == "partial")
            print prefix "." keys[i], texts[keys[i]]
}
