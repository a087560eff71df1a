# shards.awk: who works on which part of the data?
#
#     awk -f shards.awk -v shards=10 STORY
#
# A story has two lines an op: "begin OP MEMBER..." with those that work on it,
# and "done OP MEMBER..." with those whose work is in its result. In between one
# may have died. For each begin print a line for each member: OP MEMBER SHARD,
# with shards from 0 to shards-1; a member that has nothing to do gets none.
#
# This one deals the shards in turn, as is usual when nobody dies: an op of n
# members takes the next n.
$1 == "begin" {
    members = NF - 2
    for (i = 0; i < members; i++)
        print $2, $(i + 3), ($2 * members + i) % shards
}
