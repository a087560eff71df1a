# SPDX-License-Identifier: MIT
#
# Prints a line of run.sh's chart: the times of three algorithms relative to the
# fastest. Reads "t.ALGORITHM.time_us US".

function put(letter, time,    at) {
    at = 1 + int((time / best - 1) * 24 + 0.5)
    line = substr(line, 1, at - 1) letter substr(line, at + 1)
}

$1 ~ /^t[.](recursive_doubling|rabenseifner|ring)[.]time_us$/ {
    time[$1] = $2
    if (best == 0 || $2 < best)
        best = $2
}

END {
    line = sprintf("%58s", "")
    ring = time["t.ring.time_us"]
    put("o", ring < 3.3 * best ? ring : 3.3 * best)
    put("d", time["t.recursive_doubling.time_us"])
    put("r", time["t.rabenseifner.time_us"])
    sub(/ +$/, "", line)
    printf "%7d %8.1f us |%s\n", size, best, line
}
