# SPDX-License-Identifier: MIT
"""A rank: every collective, type and reduction, compared with NumPy.

All ranks make the inputs of all ranks from one seed, so that each knows every
result. Values are small integers: every sum and product is exact in every type,
whatever the order, and NumPy must agree bit by bit.
"""

import sys

import numpy as np

import gradwire

comm = gradwire.init()
p, me = comm.size, comm.rank
rng = np.random.default_rng(7)
TYPES = "bool i1 i2 i4 i8 u1 u2 u4 u8 f2 bf16 f4 f8".split()
OPS = "sum prod min max avg land lor band bor".split()
N = int(sys.argv[1]) if len(sys.argv) > 1 else 37


class Kind:
    """A type: how arrays of it are made from numbers and read back."""

    def __init__(self, name):
        self.name, self.bf16 = name, name == "bf16"
        self.np = np.dtype("u2" if self.bf16 else name)
        self.options = {"dtype": "bf16"} if self.bf16 else {}
        self.integer = self.np.kind in "iub" and not self.bf16

    def encode(self, numbers):
        if not self.bf16:
            return numbers.astype(self.np)
        bits = numbers.astype("f4").view("u4").astype("u8")
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("u2")

    def draw(self, *shape):
        low = -2 if self.np.kind in "if" or self.bf16 else 0
        return rng.integers(low, 4, (p, *shape))

    def allows(self, op):
        if self.name == "bool":
            return op not in ("sum", "prod", "avg")
        return self.integer or op not in ("land", "lor", "band", "bor")


def reduced(kind, op, numbers):
    """The reduction over the first axis, by NumPy. One rank keeps its values, which
    makes a difference for land and lor of numbers other than 0 and 1."""
    if p == 1:
        return kind.encode(numbers[0])
    if kind.bf16:
        numbers = numbers.astype("f4")
    if kind.name == "bool":
        numbers = numbers.astype(bool)
    if op == "avg":
        wrapped = kind.encode(numbers.sum(0)).astype("f8") if kind.integer else numbers.sum(0)
        if kind.integer:
            return kind.encode(np.trunc(wrapped / p))
        single = wrapped.astype("f4") / np.float32(p) if kind.np.itemsize < 8 else wrapped / p
        return kind.encode(single)
    function = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum,
                "land": np.logical_and, "lor": np.logical_or, "band": np.bitwise_and,
                "bor": np.bitwise_or}[op]
    return kind.encode(function.reduce(numbers, axis=0))


def same(got, expected, *what):
    assert got is not None and np.array_equal(got, expected), \
        f"rank {me} of {p}: {what}:\n{got}\ninstead of\n{expected}"


def finish(request):
    while not request.test():
        pass
    return request.wait()


def reductions(kind, op):
    numbers = kind.draw(N)
    inputs, expected = kind.encode(numbers), reduced(kind, op, numbers)
    o, mine = kind.options, inputs[me].copy()
    same(comm.allreduce(mine, op, **o), expected, "allreduce", kind.name, op)
    same(mine, inputs[me], "input", kind.name, op)
    shared = gradwire.empty(N, bool if kind.name == "bool" else kind.np)
    same(finish(comm.allreduce(mine, op, shared, wait=False, **o)), expected, "shared")
    assert comm.allreduce(mine, op, mine, **o) is mine
    same(mine, expected, "allreduce in place", kind.name, op)
    for root in {0, p - 1}:
        got = comm.reduce(inputs[me].copy(), op, root, **o)
        assert (got is None) == (me != root)
        if me == root:
            same(got, expected, "reduce", kind.name, op)
    rows = kind.draw(p, 5)
    all_rows, totals = kind.encode(rows), reduced(kind, op, rows)
    mine = all_rows[me].copy()
    same(comm.reduce_scatter(mine, op, **o), totals[me], "reduce_scatter", kind.name, op)
    comm.reduce_scatter(mine, op, mine[me], **o)
    same(mine[me], totals[me], "reduce_scatter in place", kind.name, op)


def scans(kind, op):
    numbers = kind.draw(N)
    inputs = kind.encode(numbers)
    until, before = (kind.encode(numbers[0]) if end == 1 else reduced(kind, op, numbers[:end])
                     if end else None for end in (me + 1, me))
    same(comm.scan(inputs[me], op, **kind.options), until, "scan", kind.name, op)
    got = comm.exscan(inputs[me], op, **kind.options)
    assert (got is None) == (me == 0)
    if me > 0:
        same(got, before, "exscan", kind.name, op)
    mine = inputs[me].copy()
    assert comm.scan(mine, op, mine, **kind.options) is mine
    same(mine, until, "scan in place", kind.name, op)


def movements(kind):
    o = kind.options
    inputs = kind.encode(kind.draw(N))
    for root in {0, p - 1}:
        buffer = inputs[me].copy()
        assert comm.broadcast(buffer, root, **o) is buffer
        same(buffer, inputs[root], "broadcast", kind.name)
        got = comm.gather(inputs[me], root, **o)
        if me == root:
            same(got, inputs, "gather", kind.name)
        block = np.empty(N, kind.np)
        rows = inputs.copy() if me == root else None
        same(comm.scatter(rows, root, block, **o), inputs[me], "scatter", kind.name)
    same(comm.allgather(inputs[me], **o), inputs, "allgather", kind.name)
    whole = np.zeros((p, N), kind.np)
    whole[me] = inputs[me]
    comm.allgather(whole[me], whole, **o)
    same(whole, inputs, "allgather in place", kind.name)
    tiles = kind.encode(kind.draw(p, 3, 2))
    same(comm.alltoall(tiles[me].copy(), **o), tiles[:, me], "alltoall", kind.name)
    mine = tiles[me].copy()
    comm.alltoall(mine, mine, **o)
    same(mine, tiles[:, me], "alltoall in place", kind.name)
    variants(kind, o)


def variants(kind, o):
    counts = [2 * r for r in range(p)]  # rank 0 has an empty block
    displs = [sum(counts[:r]) + r for r in range(p)]  # with gaps of one
    blocks = [kind.encode(kind.draw(n)[0]) for n in counts]
    joined = np.concatenate(blocks)
    root = p - 1
    got = comm.gatherv(blocks[me], counts, root, **o)
    if me == root:
        same(got, joined, "gatherv", kind.name)
    gaps = np.zeros(sum(counts) + p, kind.np)
    comm.allgatherv(blocks[me], counts, gaps, displs=displs, **o)
    for block, at in zip(blocks, displs):
        same(gaps[at:at + len(block)], block, "allgatherv", kind.name)
    source = gaps if me == root else None
    got = comm.scatterv(source, counts, root, np.empty(counts[me], kind.np), displs=displs, **o)
    same(got, blocks[me], "scatterv", kind.name)
    sizes = [[(src + 2 * dst) % 4 for dst in range(p)] for src in range(p)]
    parts = [[kind.encode(kind.draw(n)[0]) for n in row] for row in sizes]
    got = comm.alltoallv(np.concatenate(parts[me]), sizes[me], [row[me] for row in sizes], **o)
    same(got, np.concatenate([row[me] for row in parts]), "alltoallv", kind.name)


def messages(kind):
    data, o = kind.encode(kind.draw(N)), kind.options
    got = np.empty(N, kind.np)
    waiting = comm.recv(got, (me - 1) % p, wait=False, **o) if p > 1 else None
    if p > 1:
        comm.send(data[me], (me + 1) % p, **o)
        same(waiting.wait(timeout=60), data[(me - 1) % p], "send", kind.name)


def splits():
    half = comm.split(me % 2, -me)
    members = [r for r in range(p) if r % 2 == me % 2][::-1]
    assert (half.size, half.rank) == (len(members), members.index(me))
    same(half.allgather(np.array([me])).ravel(), members, "split")
    half.close()
    assert (comm.split(-1 if me == 0 else 0) is None) == (me == 0)


def several_at_once():
    arrays = [np.full(1000 * (i + 1), me, "f8") for i in range(8)]
    requests = [gradwire.allreduce(a, wait=False) for a in arrays]
    for request in reversed(requests):
        same(request.wait(), np.full_like(request.wait(), sum(range(p))), "several")


for kind in map(Kind, TYPES):
    for op in filter(kind.allows, OPS):
        reductions(kind, op)
        if op != "avg":
            scans(kind, op)
    movements(kind)
    messages(kind)
splits()
several_at_once()
comm.barrier()
assert p == 1 or comm.counters((me + 1) % p).bytes_sent > 0
print(f"rank {me} ok\n", end="")
