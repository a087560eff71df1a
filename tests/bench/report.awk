# SPDX-License-Identifier: MIT
#
# The table: for each row that expand.awk wrote out, the medians of both sides,
# the spread of the rounds, the median of the rounds' ratios (below 1: gradwire
# is faster), and the verdict:
#
#   PASS           within the limit
#   MISS n         not within the limit, for reason n (reasons.awk)
#   MISS beyond n  further away than its reason explains
#   MISS           not within the limit, for an unknown reason
#
# The ratio of the medians would be worse: two virtual cores that share a real
# one for some seconds make everything of 2 ranks twice as slow during that
# time. Both sides of a round mostly see the same. Of 5 rounds in 14 the ratio
# of the medians had a standard deviation of 26 %, the median of the ratios 12
# %, the ratio of the best 7 % (18 cells, 2 cores of a shared machine).
#
# Below the table are the reasons, and the number of rows within their limits.
# The status is 1 if a row is missed without a reason, or beyond it.
#
#   awk [-v slack=1.3] [-v best_counts=1] [-v reasons=FILE] [-v json=FILE] \
#       [-v record=FILE] [-v missed=FILE] \
#       -f stats.awk -f yardstick.awk -f reasons.awk -f report.awk TIMES ROWS
#
# slack: limits are so many times as large. best_counts: the best of the rounds
# instead of the median. json: appends the rows, one object per line. record:
# writes rows with the current ratios as limits. missed: receives the missed
# rows without a reason.

function limit_of(word,    parts) {
    if (word == "-")
        return 0
    return split(word, parts, "/") == 2 ? parts[1] / parts[2] : word + 0
}

# Sets base (its value), base_spread, base_range, base_name and base_of, the
# measurement; base_known is 0 if something is missing.
function weigh_yardstick(    count, i, value) {
    count = yardstick_needs(needs, $2, $3, $4, $5, $6)
    base_known = $6 ~ /^=/
    base = base_known ? substr($6, 2) + 0 : 0
    base_spread = 0
    base_range = "null"
    base_name = $6
    if ($6 == "near") {
        base_known = runs[needs[1]] && runs[needs[2]]
        base = between(typical(needs[1]), typical(needs[2]))
        base_spread = spread(needs[2])
        return
    }
    for (i = 1; i <= count; i++) {
        value = typical(needs[i])
        if (runs[needs[i]] && (!base_known || value < base)) {
            base_known = 1
            base = value
            base_of = needs[i]
            base_spread = spread(base_of)
            base_range = range(base_of)
            if ($6 ~ /\|/)
                base_name = substr(base_of, 1, index(base_of, " ") - 1)
        }
    }
}

# Interpolated between the sizes around the row's.
function between(low_us, high_us,    low, high) {
    low = size_below($4)
    high = size_above($4)
    if (high == low || $4 <= low)
        return low_us
    return low_us + (high_us - low_us) * ($4 - low) / (high - low)
}

# The yardstick in one round; 0: it was not measured.
function base_in(round) {
    if ($6 ~ /^=/)
        return base
    if ($6 != "near")
        return in_round[base_of, round]
    if (!in_round[needs[1], round] || !in_round[needs[2], round])
        return 0
    return between(in_round[needs[1], round], in_round[needs[2], round])
}

# The median over the rounds that have both sides.
function ratio_of_rounds(    r, count, ratios, other) {
    for (r = 1; r <= rounds; r++) {
        other = base_in(r)
        if (((name, r) in in_round) && other)
            ratios[++count] = in_round[name, r] / other
    }
    sort(ratios, count)
    return count ? median(ratios, count) : own / base
}

function head() {
    printf "%-8s %-14s %5s %7s %-14s %10s %6s %-14s %10s %6s %-4s %7s %6s\n", \
        "group", "op", "ranks", "bytes", "gradwire", "median", "spread", \
        "yardstick", "median", "spread", "unit", "ratio", "limit"
}

function print_row() {
    printf "%-8s %-14s %5d %7s %-14s %10.2f %5.0f%% %-14s %10.2f %5.0f%% " \
        "%-4s %7.3f %6s %s\n", $1, $2, $3, size_text($4), $5, own, \
        own_spread, base_name, base, base_spread, unit_of($5), ratio, \
        limit ? sprintf("%.3f", limit) : "-", verdict
}

function known_number(known, value, format) {
    return known ? sprintf(format, value) : "null"
}

function quoted(text) {
    gsub(/["\\]/, "\\\\&", text)
    return "\"" text "\""
}

function print_json() {
    printf "{\"group\":\"%s\",\"op\":\"%s\",\"ranks\":%d,\"bytes\":%d," \
        "\"unit\":\"%s\",\"gradwire\":\"%s\",\"gradwire_median\":%s," \
        "\"gradwire_range\":%s,\"gradwire_spread_percent\":%.1f," \
        "\"yardstick\":\"%s\",\"yardstick_median\":%s," \
        "\"yardstick_range\":%s,\"yardstick_spread_percent\":%.1f," \
        "\"rounds\":%d,\"ratio\":%s,\"limit\":%s,\"met\":%s," \
        "\"reason\":%s,\"reason_bound\":%s,\"excused\":%s}\n", \
        $1, $2, $3, $4, unit_of($5), $5, \
        known_number(runs[name], own, "%.3f"), range(name), own_spread, \
        base_name, known_number(base_known, base, "%.3f"), base_range, \
        base_spread, runs[name], known_number(measured, ratio, "%.4f"), \
        known_number(limit, limit, "%.4f"), \
        limit ? (met ? "true" : "false") : "null", \
        reason ? quoted(reason_text[reason]) : "null", \
        known_number(reason, reason_bound[reason], "%.4f"), \
        limit && !met ? (excused ? "true" : "false") : "null" >>json
}

# The reasons in use are numbered in the order of the table.
function number_of(reason) {
    if (!(reason in numbers)) {
        numbers[reason] = ++number_count
        numbered[number_count] = reason
    }
    return numbers[reason]
}

function judge() {
    met = measured && ratio <= limit
    reason = limit && measured && !met ? reason_of_row() : 0
    excused = reason && ratio <= reason_bound[reason] * slack
    if (!measured)
        return limit ? "MISS (no result)" : "(no result)"
    if (!limit)
        return ""
    if (met)
        return "PASS"
    return "MISS" (reason ? (excused ? " " : " beyond ") number_of(reason) : "")
}

function count_row() {
    if (!($1 in seen)) {
        seen[$1]
        groups[++group_count] = $1
    }
    limited[$1] += limit > 0
    passed[$1] += limit > 0 && met
    explained[$1] += limit > 0 && excused
}

function print_counts(what, limited, passed, explained) {
    printf "%s: %d rows with a limit: %d met, %d missed with a reason, " \
        "%d missed\n", what, limited, passed, explained, \
        limited - passed - explained
}

BEGIN {
    slack = slack ? slack : 1
    if (reasons && !reasons_read(reasons)) {
        unreadable = 1
        exit 65
    }
}

FNR == 1 { head() }

{
    name = named($5, $2, $3, $4)
    own = typical(name)
    own_spread = spread(name)
    weigh_yardstick()
    measured = runs[name] && base_known && base > 0
    ratio = !measured ? 0 : best_counts ? own / base : ratio_of_rounds()
    limit = limit_of($7) * slack
    verdict = judge()
    count_row()
    print_row()
    if (json)
        print_json()
    if (missed && limit && !met && !excused)
        print >missed
    if (record)
        print $1, $2, $3, $4, $5, $6, \
            (measured ? sprintf("%.3f", ratio) : "-") >record
}

END {
    if (unreadable)
        exit 65
    if (number_count)
        print ""
    for (i = 1; i <= number_count; i++)
        printf "%d  %s (up to %s)\n", i, reason_text[numbered[i]], \
            reason_bound[numbered[i]]
    print ""
    for (i = 1; i <= group_count; i++) {
        group = groups[i]
        print_counts(group, limited[group], passed[group], explained[group])
        all += limited[group]
        all_passed += passed[group]
        all_explained += explained[group]
    }
    print_counts("all", all, all_passed, all_explained)
    exit all > all_passed + all_explained
}
