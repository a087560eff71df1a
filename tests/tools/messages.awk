# SPDX-License-Identifier: MIT
#
# The consumer of .ci/sentences.awk for tests/tools/messages, whose --sample sorts
# the messages by the numbers of a linear congruential generator whose
# increment depends on the seed, so that seeds choose different messages.

function message(type, line, string) {
    if (!index(kinds, "," type ","))
        return
    number = (number * 16807 + seed) % 2147483647
    if (!sample)
        printf "%s:%d: %s: %s\n", file, line, type, string
    else
        printf "%d\t%s:%d: %s: %s\n", number, file, line, type, string | order
}
function sentence(    i, string) {
    for (i = 1; i <= count; i++)
        if (spelled[i] != "")
            string = string (string != "" && spelled[i] !~ /^[,;:]/ ? " " : "") spelled[i]
    if (kind == "man" && count > 4 && !label)
        message("man", at[1], string)
}
function literal(string, line, start) {
    if (start ~ fails && string ~ /(^|[^%a-z])[a-z][a-z]/)
        message("fail", line, string)
    else if (start ~ /\.(help|examples|summary|instead) *=|OPTION_[A-Z]+,/ && string ~ / /)
        message("help", line, string)
    else if (string ~ /[A-Za-z]+[^A-Za-z]* [^ ]*[A-Za-z]+.* .*[A-Za-z]/)
        message("text", line, string)
}
BEGIN {
    fails = "(^|[^a-z_])([a-z_]*(fail|fail_errno|failed|fail_at_word|refuse|expected|unexpected|lose" \
        "|notice|trouble)|gw_wrap|complain[a-z_]*|wrong|damaged|not_a|bad|odd) *\\("
    seed = (seed + 1) * 48271 % 2147483647
    number = 1
    order = "sort -n | head -n " sample " | cut -f 2-"
}