# shards.awk: which member works on which part of the data?
#
#     awk -f shards.awk -v shards=10 STORY
#
# A story has two lines per op: "begin OP MEMBER..." has the members that work on
# it, "done OP MEMBER..." those whose work is in its result. A member may die in
# between. For each begin, print one line per member: OP MEMBER SHARD, with shards
# from 0 to shards-1. A member without work gets no line.
#
# This version assigns the shards in turn, which is right if no member dies: an op
# of n members takes the next n.
$1 == "begin" {
    members = NF - 2
    for (i = 0; i < members; i++)
        print $2, $(i + 3), ($2 * members + i) % shards
}
