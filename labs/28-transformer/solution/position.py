"""The position in the data: which batches count, and which come back. See the exercise."""

import sys


def position(batches, ops):
    """Yields the batches that count in each op."""
    left = list(range(batches))
    for members, contributors in ops:
        leased = list(zip(members, left))
        used = [batch for member, batch in leased if member in contributors]
        left = [batch for batch in left if batch not in used]
        yield used


def read(path):
    with open(path) as file:
        for line in file:
            members, contributors = line.split(":")
            yield members.split(), contributors.split()


for used in position(int(sys.argv[1]), read(sys.argv[2])):
    print(*used)
