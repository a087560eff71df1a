# shards.py: a pool. Place i of an op gets the ith shard that is not done. The
# shards of the members in the result are done; the others go back. When all are
# done, the next epoch begins.
#
#     python3 shards.py shards=10 STORY
import sys

given = dict(word.split("=") for word in sys.argv[1:-1])
shards = int(given["shards"])

finished = set()
lent = {}
for line in open(sys.argv[-1]):
    kind, op, *members = line.split()
    if kind == "begin":
        free = [shard for shard in range(shards) if shard not in finished]
        lent = dict(zip(members, free))
        for member, shard in lent.items():
            print(op, member, shard)
    else:
        finished |= {lent[member] for member in members if member in lent}
        if len(finished) == shards:
            finished = set()
