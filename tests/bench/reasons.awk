# SPDX-License-Identifier: MIT
#
# The reasons for missed rows: reads the file `reasons` for report.awk, which
# gets its name by -v reasons=FILE. A line is
#
#   group ops ranks bytes gradwire yardstick BOUND sentence
#
# Ops, ranks, bytes and the others are as in the file `rows`, lists too, or *
# for any. The first line that fits a row is its reason, up to the ratio BOUND:
# a slower row has become worse than its reason explains.

function reason_fits(word, value,    parts, count, i) {
    if (word == "*" || word == value)
        return 1
    count = split(word, parts, ",")
    for (i = 1; i <= count; i++)
        if (parts[i] == value)
            return 1
    return 0
}

# Reads the file; an invalid line is an error that shows it.
function reasons_read(file,    line, word, number, status, i) {
    while ((status = (getline line <file)) > 0) {
        number++
        if (line ~ /^#/ || line ~ /^[ \t]*$/)
            continue
        if (split(line, word, " ") < 8 || word[7] !~ /^[0-9.]+$/) {
            printf "%s:%d: not six words, a bound and a sentence\n", file, \
                number >"/dev/stderr"
            return 0
        }
        reason_count++
        for (i = 1; i <= 6; i++)
            reason_word[reason_count, i] = word[i]
        reason_bound[reason_count] = word[7] + 0
        for (i = 1; i <= 7; i++)
            sub(/^[ \t]*[^ \t]+[ \t]+/, "", line)
        reason_text[reason_count] = line
    }
    close(file)
    return status == 0
}

# The number of the current row's reason; 0: none.
function reason_of_row(    r, i) {
    for (r = 1; r <= reason_count; r++) {
        for (i = 1; i <= 6; i++)
            if (!reason_fits(reason_word[r, i], i == 4 ? size_text($4) : $i))
                break
        if (i > 6)
            return r
    }
    return 0
}
