# shards.py: which member works on which part of the data? This is shards.awk in
# Python. Change one of the two; the check runs that one.
#
#     python3 shards.py shards=10 STORY
#
# A story has two lines per op: "begin OP MEMBER..." has the members that work on
# it, "done OP MEMBER..." those whose work is in its result. A member may die in
# between. For each begin, print one line per member: OP MEMBER SHARD, with shards
# from 0 to shards-1. A member without work gets no line.
#
# This version assigns the shards in turn, which is right if no member dies: an op
# of n members takes the next n.
import sys

given = dict(word.split("=") for word in sys.argv[1:-1])
shards = int(given["shards"])

for line in open(sys.argv[-1]):
    kind, op, *members = line.split()
    if kind == "begin":
        for i, member in enumerate(members):
            print(op, member, (int(op) * len(members) + i) % shards)
