# SPDX-License-Identifier: MIT
"""ops.py SEED BATCHES FILE: draws ops of an epoch, in which members die and join, writes
them to FILE, and prints the batches that count in each, by the library's shards."""

import random
import sys

from gradwire import RingResult, Shards

seed, batches, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
draw = random.Random(seed)
shards = Shards(bytearray(Shards.bytes(batches)), batches)
members, newest = [0, 1, 2, 3], 4
with open(path, "w") as file:
    while shards.epoch == 0:
        dead = draw.choice(members) if len(members) > 2 and draw.random() < 0.4 else None
        # The contribution of a dead member may still count (FORWARD).
        counts = [m for m in members if m != dead or draw.random() < 0.3]
        leased = {m: shards.of(place) for place, m in enumerate(members)}
        used = [leased[m] for m in counts if leased[m] is not None]
        print(*members, ":", *counts, file=file)
        print(*used)
        shards.complete(RingResult(None, 0, 0, tuple(counts), tuple(members), 0))
        members = [m for m in members if m != dead]
        if draw.random() < 0.4:
            members.append(newest)
            newest += 1
