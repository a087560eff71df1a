# SPDX-License-Identifier: MIT
#
# Turns the tools' JSON lines into lines "NAME VALUE", the input of facts and
# predictions:
#
#   awk -v name=ring -f json.awk ring.jsonl
#
#   {"rounds":6,"nodes":[{"node":0}]}   ring.rounds 6
#                                       ring.nodes.0.node 0
#
# true is 1, false is 0, and null is omitted. With -v by=algo (separate several
# fields by commas) the values of these fields are part of the names, so the rows of
# a table keep different names: sim.ring.rounds. Of equal names the last wins. In a
# line with "partial":true, which ended early, only the status counts. The
# provenance of a document is no result.

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

# Parses one value. Its name is `path`; its members are path.key.
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
        if (keys[i] !~ /^provenance\./ && (!texts["partial"] ||
            keys[i] == "status" || keys[i] == "partial"))
            print prefix "." keys[i], texts[keys[i]]
}
