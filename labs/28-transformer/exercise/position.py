"""The position in the data: which batches count, and which come back.

    position.py BATCHES FILE

A line of the file is an op: the members at its beginning, in the order of their places,
then ":" and the members whose contributions count. For each op it prints the batches that
count in it, in order. The epoch begins with the batches 0 to BATCHES - 1; the member at
place i has the i-th of those that are not done.
"""

import sys


def position(batches, ops):
    """Yields the batches that count in each op."""
    done = 0
    for members, contributors in ops:
        # Wrong: a batch whose member has died is never used.
        yield [done + place for place, member in enumerate(members)
               if member in contributors and done + place < batches]
        done += len(members)


def read(path):
    with open(path) as file:
        for line in file:
            members, contributors = line.split(":")
            yield members.split(), contributors.split()


for used in position(int(sys.argv[1]), read(sys.argv[2])):
    print(*used)
