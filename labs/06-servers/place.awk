# SPDX-License-Identifier: MIT
#
# awk -f place.awk -v workers=4 tensors.txt place.txt: the placement as a plan. A
# chunk is a block of a tensor; its server is the rank that place.txt says, to
# whom all push it and from whom all pull it. What is wrong with the placement is
# said on stderr, and then there is no plan. The first line also tells how many
# pieces there are.

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
    wrong("there is no tensor " $1)
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
