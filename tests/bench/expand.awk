# SPDX-License-Identifier: MIT
#
# Writes out the table's rows: every combination of the lists of each line, one
# line each, sizes in bytes.
#
#   awk -v groups="shm tcp" -f expand.awk ROWS
#
# groups: only these; default: all. An unknown group is an error that lists the
# known ones.

function bytes_of(word,    unit, scale) {
    unit = substr(word, length(word))
    scale = unit == "M" ? 1048576 : unit == "K" ? 1024 : 1
    return sprintf("%.0f", word * scale)
}

function wanted(group) {
    return groups == "" || index(" " groups " ", " " group " ") > 0
}

function ops_of(word) {
    return word == "data" ? whole "," blocks : word == "whole" ? whole : \
        word == "blocks" ? blocks : word
}

# Every op, ranks, size and program of the line.
function combine(    ops, ranks, sizes, ours, o, r, b, w, os, rs, bs, ws) {
    os = split(ops_of($2), ops, ",")
    rs = split($3, ranks, ",")
    bs = split($4, sizes, ",")
    ws = split($5, ours, ",")
    for (o = 1; o <= os; o++)
        for (r = 1; r <= rs; r++)
            for (b = 1; b <= bs; b++)
                for (w = 1; w <= ws; w++)
                    print $1, ops[o], ranks[r], bytes_of(sizes[b]), ours[w],
                        $6, $7
}

BEGIN {
    whole = "broadcast,reduce,allreduce"
    blocks = "gather,scatter,allgather,reduce_scatter,alltoall"
}

/^#/ || NF == 0 { next }

NF != 7 {
    printf "%s:%d: not seven columns\n", FILENAME, FNR >"/dev/stderr"
    failed = 64
    exit
}

!($1 in known) { known[$1]; all = all (all ? ", " : "") $1 }

wanted($1) { combine() }

END {
    count = split(groups, named, " ")
    for (i = 1; i <= count && !failed; i++)
        if (!(named[i] in known)) {
            printf "bench: no group \"%s\"; there are %s\n", named[i],
                all >"/dev/stderr"
            failed = 64
        }
    exit failed
}
