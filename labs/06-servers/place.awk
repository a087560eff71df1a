# SPDX-License-Identifier: MIT
#
# awk -f place.awk -v workers=4 tensors.txt place.txt: prints the placement as a
# plan. A chunk is a block of a tensor. Its server is the rank in place.txt, to
# which all ranks push it and from which all pull it. A placement with mistakes
# gives messages on stderr and no plan. The first line has the number of pieces.

{
    sub(/#.*/, "")
}

NF == 0 {
    next
}

FNR == NR {
    size[$1] = $2
    all += $2
    next
}

NF != 3 || $2 !~ /^[0-9]+$/ || $3 !~ /^[0-9]+$/ {
    wrong("write TENSOR SERVER BLOCKS, not \"" $0 "\"")
    next
}

!($1 in size) {
    wrong("unknown tensor " $1)
    next
}

$2 >= workers {
    wrong("servers are 0 to " workers - 1 ", not " $2)
    next
}

$3 > 0 {
    pieces++
    placed[$1] += $3
    for (i = 0; i < $3; i++)
        owner[chunks++] = $2
}

function wrong(text) {
    print "place.txt: " text >"/dev/stderr"
    faults++
}

END {
    for (tensor in size)
        if (placed[tensor] + 0 != size[tensor])
            wrong(tensor " has " size[tensor] " blocks, and " \
                placed[tensor] + 0 " are placed")
    if (faults)
        exit 1
    print "# " pieces " pieces, " all " blocks"
    print "allreduce ranks=" workers " chunks=" all " name=place"
    print "step"
    for (c = 0; c < all; c++)
        for (w = 0; w < workers; w++)
            if (w != owner[c])
                print "    " w ">" owner[c] " c" c " +"
    print "step"
    for (c = 0; c < all; c++)
        for (w = 0; w < workers; w++)
            if (w != owner[c])
                print "    " owner[c] ">" w " c" c " ="
}
