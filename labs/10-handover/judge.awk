# SPDX-License-Identifier: MIT
#
#     awk -f judge.awk -v shards=S STORY ASSIGNED
#
# Judges an assignment (lines "OP MEMBER SHARD"). A shard counts when its member is
# in the result of the op. Prints NAME VALUE lines: `used` shards,
# `doubled` in an epoch, `epochs` that were complete, `strange` lines, and `idle`:
# members without a shard while one was free.

FNR == 1 { file++ }
file == 1 && $1 == "begin" { ops[++count] = $2; for (i = 3; i <= NF; i++) works[$2, $i] = 1 }
file == 1 && $1 == "done" { for (i = 3; i <= NF; i++) in_result[$2, $i] = 1 }
file == 2 {
    if (NF != 3 || !(($1, $2) in works) || $3 !~ /^[0-9]+$/ || $3 >= shards ||
        ($1, $2) in of)
        strange++
    else
        of[$1, $2] = $3
}

function judge(op,    m, given, taken) {
    split("", taken)
    for (m = 0; m < 64; m++)
        if ((op, m) in of) {
            given++
            if (of[op, m] in taken)
                doubled++
            taken[of[op, m]] = 1
        }
    for (m = 0; m < 64; m++)
        if ((op, m) in works && !((op, m) in of) && given + done_count < shards)
            idle++
    for (m = 0; m < 64; m++)
        if ((op, m) in of && (op, m) in in_result)
            use(of[op, m])
}

function use(shard) {
    used++
    if (shard in done_in)
        doubled++
    else
        done_count++
    done_in[shard] = 1
}

END {
    for (i = 1; i <= count; i++) {
        judge(ops[i])
        if (done_count == shards) {
            epochs++
            done_count = 0
            split("", done_in)
        }
    }
    print "used", used + 0
    print "epochs", epochs + 0
    print "idle", idle + 0
    if (used) { # an empty assignment has no mistakes
        print "doubled", doubled + 0
        print "strange", strange + 0
    }
}
