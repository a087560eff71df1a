# shards.awk: a pool. Place i of an op gets the ith shard that is not done. The
# shards of the members in the result are done; the others go back. When all are
# done, the next epoch begins.
#
#     awk -f shards.awk -v shards=10 STORY

$1 == "begin" {
    split("", lent)
    shard = 0
    for (i = 3; i <= NF; i++) {
        while (shard < shards && shard in finished)
            shard++
        if (shard < shards) {
            print $2, $i, shard
            lent[$i] = shard++
        }
    }
}

$1 == "done" {
    for (i = 3; i <= NF; i++)
        if ($i in lent && !(lent[$i] in finished)) {
            finished[lent[$i]] = 1
            count++
        }
    if (count == shards) {
        split("", finished)
        count = 0
    }
}
