# SPDX-License-Identifier: MIT
#
# The table: for each row that expand.awk wrote out, the medians of both sides,
# how far the rounds lie apart, the ratio of the medians (below 1: gradwire is
# faster), and whether it is within the limit. At last how many rows are met,
# by group. The status is 1 when one is missed.
#
#   awk [-v slack=1.3] [-v best_counts=1] [-v json=FILE] [-v record=FILE] \
#       -f stats.awk -f yardstick.awk -f report.awk TIMES ROWS
#
# slack: limits are so many times as large. best_counts: of the rounds, the best
# instead of the median. json: the rows are appended, an object a line. record:
# rows are written with the ratios of now as limits.

function limit_of(word,    parts) {
    if (word == "-")
        return 0
    return split(word, parts, "/") == 2 ? parts[1] / parts[2] : word + 0
}

# Sets base_us, base_spread and base_name, to 0 us when something is lacking.
function weigh_yardstick(    count, needs, i, us) {
    count = yardstick_needs(needs, $2, $3, $4, $5, $6)
    base_us = $6 ~ /^=/ ? substr($6, 2) + 0 : 0
    base_spread = 0
    base_name = $6
    if ($6 == "near") {
        interpolate(needs)
        return
    }
    for (i = 1; i <= count; i++) {
        us = typical(needs[i])
        if (us && (!base_us || us < base_us)) {
            base_us = us
            base_spread = spread(needs[i])
            if ($6 ~ /\|/)
                base_name = substr(needs[i], 1, index(needs[i], " ") - 1)
        }
    }
}

function interpolate(needs,    low, high, low_us, high_us) {
    low = size_below($4)
    high = size_above($4)
    low_us = typical(needs[1])
    high_us = typical(needs[2])
    if (!low_us || !high_us)
        return
    base_us = low_us
    if (high > low && $4 > low)
        base_us += (high_us - low_us) * ($4 - low) / (high - low)
    base_spread = spread(needs[2])
}

function head() {
    printf "%-8s %-14s %5s %7s %-10s %10s %6s %-14s %10s %6s %7s %6s\n", \
        "group", "op", "ranks", "bytes", "gradwire", "us", "spread", \
        "yardstick", "us", "spread", "ratio", "limit"
}

function number(value, format) {
    return value ? sprintf(format, value) : "null"
}

function print_json() {
    printf "{\"group\":\"%s\",\"op\":\"%s\",\"ranks\":%d,\"bytes\":%d," \
        "\"gradwire\":\"%s\",\"gradwire_us\":%s," \
        "\"gradwire_spread_percent\":%.1f,\"yardstick\":\"%s\"," \
        "\"yardstick_us\":%s,\"yardstick_spread_percent\":%.1f," \
        "\"rounds\":%d,\"ratio\":%s,\"limit\":%s,\"met\":%s}\n", \
        $1, $2, $3, $4, $5, number(us, "%.3f"), own_spread, base_name, \
        number(base_us, "%.3f"), base_spread, runs[name], \
        number(ratio, "%.4f"), number(limit, "%.4f"), \
        limit ? (met ? "true" : "false") : "null" >>json
}

function judge(    verdict) {
    met = ratio > 0 && ratio <= limit
    verdict = met ? "PASS" : ratio ? "MISS" : "MISS (no result)"
    if (!limit)
        verdict = ratio ? "" : "(no result)"
    limited[$1] += limit > 0
    passed[$1] += limit > 0 && met
    return verdict
}

BEGIN { slack = slack ? slack : 1 }

FNR == 1 { head() }

{
    name = named($5, $2, $3, $4)
    us = typical(name)
    own_spread = spread(name)
    weigh_yardstick()
    ratio = us && base_us ? us / base_us : 0
    limit = limit_of($7) * slack
    verdict = judge()
    if (!($1 in seen)) {
        seen[$1]
        groups[++group_count] = $1
    }
    printf "%-8s %-14s %5d %7s %-10s %10.2f %5.0f%% %-14s %10.2f %5.0f%% " \
        "%7.3f %6s %s\n", $1, $2, $3, size_text($4), $5, us, own_spread, \
        base_name, base_us, base_spread, ratio, \
        limit ? sprintf("%.3f", limit) : "-", verdict
    if (json)
        print_json()
    if (record)
        print $1, $2, $3, $4, $5, $6, (ratio ? sprintf("%.3f", ratio) : "-") >record
}

END {
    for (i = 1; i <= group_count; i++) {
        group = groups[i]
        printf "%s: %d of %d rows with a limit are met\n", group, \
            passed[group], limited[group]
        missed += limited[group] - passed[group]
    }
    exit missed > 0
}
