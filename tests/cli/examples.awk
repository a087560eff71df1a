# SPDX-License-Identifier: MIT
#
# Extracts the examples of a README or a manual page, for docs.bats.
#
#   awk -v dir=DIR -f examples.awk README.md | man/PAGE
#
# Examples are blocks fenced by ```sh and ```c in Markdown, and by .Bd -literal
# and .Ed in the EXAMPLES of an mdoc page. The text of a block determines its
# kind:
#
#   a line "$ COMMAND"        is a command; a backslash at its end continues it
#   "#include" at the begin   a whole C program
#   "COLLECTIVE ranks=..."    a plan of gradwire-plan(5)
#   "schedule stages=..."     a schedule of gradwire-schedule(5)
#   "network NAME"            a network of gradwire-network(5)
#   "# NAME.ring"             a script of ringctl(1)
#   anything else             output; after a program in a manual page, what
#                             it prints
#
# DIR/commands receives the commands of the whole file, in order. Programs,
# plans, schedules, networks and scripts become DIR/1.c, DIR/2.plan, DIR/1.pipe,
# DIR/1.net, DIR/1.ring and so on, the output of DIR/1.c becomes DIR/1.out.

function finish_block(    name) {
    if (block ~ /^#include/)
        name = dir "/" ++programs ".c"
    else if (block ~ /^[a-z_]+ ranks=/)
        name = dir "/" ++plans ".plan"
    else if (block ~ /^schedule stages=/)
        name = dir "/" ++schedules ".pipe"
    else if (block ~ /^network [a-z]+/)
        name = dir "/" ++networks ".net"
    else if (block ~ /^# [a-z-]+\.ring/)
        name = dir "/" ++scripts ".ring"
    else if (programs && block !~ /(^|\n)\$ / && FILENAME !~ /\.md$/)
        name = dir "/" programs ".out"
    if (name != "") {
        printf "%s", block > name
        close(name)
    }
    block = ""
    inside = 0
}

# Characters with another notation in mdoc.
function plain(line) {
    gsub(/\\&/, "", line)
    gsub(/\\-/, "-", line)
    gsub(/\\\(aq/, "\047", line)
    gsub(/\\\(dq/, "\"", line)
    gsub(/\\e/, "\\", line)
    return line
}

function take(line) {
    block = block line "\n"
    if (continued || line ~ /^\$ /) {
        sub(/^\$ /, "", line)
        print line > (dir "/commands")
        continued = line ~ /\\$/
    }
}

BEGIN { printf "" > (dir "/commands") }

FILENAME ~ /\.md$/ && inside && /^```/ { finish_block(); next }
FILENAME ~ /\.md$/ && /^```(sh|c)$/ { inside = 1; next }
FILENAME ~ /\.md$/ && inside { take($0); next }
FILENAME ~ /\.md$/ { next }

/^\.Sh / { examples = $2 == "EXAMPLES" }
examples && /^\.Bd -literal/ { inside = 1; next }
inside && /^\.Ed/ { finish_block(); next }
inside { take(plain($0)) }
