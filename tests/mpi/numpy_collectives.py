# SPDX-License-Identifier: MIT
"""Every collective of mpi4py, blocking and not, in place and not, for the predefined
types and operations, compared with NumPy. It knows nothing of gradwire.

All ranks make the inputs of all ranks from seeds, so that each knows every result.
"""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
p, me = comm.size, comm.rank
TYPES = {"b": MPI.SIGNED_CHAR, "B": MPI.UNSIGNED_CHAR, "h": MPI.SHORT,
         "H": MPI.UNSIGNED_SHORT, "i": MPI.INT, "I": MPI.UNSIGNED, "l": MPI.LONG,
         "L": MPI.UNSIGNED_LONG, "q": MPI.LONG_LONG, "f": MPI.FLOAT, "d": MPI.DOUBLE,
         "g": MPI.LONG_DOUBLE, "F": MPI.C_FLOAT_COMPLEX, "D": MPI.C_DOUBLE_COMPLEX,
         "?": MPI.C_BOOL}
OPS = {"sum": (MPI.SUM, np.add), "prod": (MPI.PROD, np.multiply),
       "min": (MPI.MIN, np.minimum), "max": (MPI.MAX, np.maximum),
       "land": (MPI.LAND, np.logical_and), "lor": (MPI.LOR, np.logical_or),
       "lxor": (MPI.LXOR, np.logical_xor), "band": (MPI.BAND, np.bitwise_and),
       "bor": (MPI.BOR, np.bitwise_or), "bxor": (MPI.BXOR, np.bitwise_xor)}
failures = 0


def allowed(op, code):
    return op in {"F": ("sum", "prod"), "D": ("sum", "prod"), "?": ("land", "lor", "lxor"),
                  "f": ("sum", "prod", "min", "max"), "d": ("sum", "prod", "min", "max"),
                  "g": ("sum", "prod", "min", "max")}.get(code, OPS)


def draw(rank, count, code):
    """The input of a rank: small numbers, whose sums and products are exact."""
    rng = np.random.RandomState(1000 * count + rank)
    numbers = rng.randint(0, 3, count)
    if code in "FD":
        return (numbers + 1j * rng.randint(0, 2, count)).astype(code)
    return (numbers % 2 == 0 if code == "?" else numbers).astype(code)


def same(got, expected, *what):
    global failures
    if not np.array_equal(got, expected):
        failures += 1
        if failures < 10:
            print(f"rank {me} of {p}: {what}: {got[:6]} instead of {expected[:6]}", flush=True)


class Form:
    """Calls by name, blocking or non-blocking."""

    def __init__(self, waits):
        self.waits = waits

    def __call__(self, name, *arguments):
        if self.waits:
            getattr(comm, "I" + name.lower())(*arguments).Wait()
        else:
            getattr(comm, name)(*arguments)


def reductions(call, code, name, count):
    mpi, (op, ufunc) = TYPES[code], OPS[name]
    inputs = np.stack([draw(r, count, code) for r in range(p)])
    if name in ("land", "lor", "lxor"):  # one input alone stays as it is
        inputs = inputs.astype(bool).astype(code)
    fold = lambda until, rows=inputs: ufunc.reduce(rows[:until], axis=0).astype(code)
    mine, out = inputs[me], np.zeros(count, code)
    what = code, name, count, call.waits
    call("Allreduce", [mine, mpi], [out, mpi], op)
    same(out, fold(p), "allreduce", *what)
    call("Scan", [mine, mpi], [out, mpi], op)
    same(out, fold(me + 1), "scan", *what)
    for method, expected in (("Allreduce", fold(p)), ("Scan", fold(me + 1)),
                             ("Exscan", fold(me) if me else mine)):
        out = mine.copy()
        call(method, MPI.IN_PLACE, [out, mpi], op)
        same(out, expected, method, "in place", *what)
    for root in {0, p - 1}:
        out = mine.copy()
        call("Reduce", MPI.IN_PLACE if me == root else [mine, mpi],
             [out, mpi] if me == root else None, op, root)
        if me == root:
            same(out, fold(p), "reduce", *what)
    blocks(call, code, name, count)


def blocks(call, code, name, count):
    """reduce_scatter with equal and unequal blocks."""
    mpi, (op, ufunc) = TYPES[code], OPS[name]
    for counts in ([count] * p, [count + r for r in range(p)]):
        begin, total = sum(counts[:me]), sum(counts)
        inputs = np.stack([draw(r, total, code) for r in range(p)])
        if name in ("land", "lor", "lxor"):
            inputs = inputs.astype(bool).astype(code)
        expected = ufunc.reduce(inputs, axis=0).astype(code)[begin:begin + counts[me]]
        out = np.zeros(counts[me], code)
        call("Reduce_scatter", [inputs[me], mpi], [out, mpi], counts, op)
        same(out, expected, "reduce_scatter", code, name, count)
        if counts[0] == counts[-1]:
            out = inputs[me].copy()
            call("Reduce_scatter_block", MPI.IN_PLACE, [out, mpi], op)
            same(out[:count], expected, "reduce_scatter_block in place", code, name, count)


def movements(call, code, count):
    mpi, what = TYPES[code], (code, count, call.waits)
    inputs = np.stack([draw(r, count, code) for r in range(p)])
    whole = inputs.reshape(-1)
    for root in {0, p - 1}:
        at_root = lambda value: value if me == root else None
        out = inputs[me].copy()
        call("Bcast", [out, mpi], root)
        same(out, inputs[root], "bcast", *what)
        out = np.zeros(p * count, code)
        call("Gather", [inputs[me], mpi], at_root([out, mpi]), root)
        same(out, whole if me == root else out, "gather", *what)
        out = np.zeros(count, code)
        call("Scatter", at_root([whole, mpi]), [out, mpi], root)
        same(out, inputs[me], "scatter", *what)
    out = np.zeros(p * count, code)
    out[me * count:(me + 1) * count] = inputs[me]
    call("Allgather", MPI.IN_PLACE, [out, mpi])
    same(out, whole, "allgather in place", *what)
    tiles = np.stack([draw(r, p * count, code).reshape(p, count) for r in range(p)])
    out = tiles[me].copy()
    call("Alltoall", MPI.IN_PLACE, [out, mpi])
    same(out, tiles[:, me], "alltoall in place", *what)
    lengths(call, code, count)


def lengths(call, code, count):
    """The variants with a v: blocks of different lengths, with gaps."""
    mpi, what = TYPES[code], (code, count, call.waits)
    counts = [count + r for r in range(p)]
    displs = [sum(counts[:r]) + 2 * r for r in range(p)]
    inputs = [draw(r, counts[r], code) for r in range(p)]
    table = np.zeros(sum(counts) + 2 * p, code)
    for r in range(p):
        table[displs[r]:displs[r] + counts[r]] = inputs[r]
    out = np.zeros_like(table)
    call("Allgatherv", [inputs[me], mpi], [out, counts, displs, mpi])
    same(out, table, "allgatherv", *what)
    for root in {0, p - 1}:
        out = np.zeros_like(table)
        call("Gatherv", [inputs[me], mpi], [out, counts, displs, mpi] if me == root else None,
             root)
        same(out, table if me == root else out, "gatherv", *what)
        out = np.zeros(counts[me], code)
        call("Scatterv", [table, counts, displs, mpi] if me == root else None, [out, mpi], root)
        same(out, inputs[me], "scatterv", *what)


def locations(call, count):
    pair = np.dtype([("value", "d"), ("at", "i")], align=True)
    values = np.stack([(np.arange(count) * 7 + r * 3) % 5 for r in range(p)]).astype("d")
    mine, out = np.zeros(count, pair), np.zeros(count, pair)
    mine["value"], mine["at"] = values[me], me
    for op, best in ((MPI.MAXLOC, values.argmax), (MPI.MINLOC, values.argmin)):
        call("Allreduce", [mine, MPI.DOUBLE_INT], [out, MPI.DOUBLE_INT], op)
        same(out["at"], best(axis=0), "location", count)
        same(out["value"], values[best(axis=0), np.arange(count)], "its value", count)


def tensor_parallel_step():
    """Two layers, the first split by columns and the second by rows, as courses ask: one
    all-reduce forward, one backward, and the gradients of one process."""
    rng = np.random.RandomState(5)
    batch, width = rng.randint(-3, 4, (8, 6)).astype("d"), 4 * p
    one, two = (rng.randint(-3, 4, s).astype("d") for s in ((6, width), (width, 6)))
    part = slice(4 * me, 4 * me + 4)
    hidden = np.maximum(batch @ one[:, part], 0)
    output = np.ascontiguousarray(hidden @ two[part])
    comm.Allreduce(MPI.IN_PLACE, output)
    same(output, np.maximum(batch @ one, 0) @ two, "forward")
    back = (output @ two[part].T) * (hidden > 0)
    gradient = np.ascontiguousarray(back @ one[:, part].T)
    comm.Allreduce(MPI.IN_PLACE, gradient)
    whole = (output @ two.T) * (batch @ one > 0)
    same(gradient, whole @ one.T, "backward")


for form in (Form(False), Form(True)):
    for size in (0, 7, 1000) if form.waits else (0, 1, 7, 1000, 70001):
        for letter in TYPES:
            movements(form, letter, size)
            for operation in OPS:
                if allowed(operation, letter) and (size <= 1000 or operation in ("sum", "max")):
                    reductions(form, letter, operation, size)
        locations(form, size)
tensor_parallel_step()
total = comm.allreduce(failures)
if me == 0:
    print(f"numpy_collectives: {p} ranks, {total} failures")
sys.exit(1 if total else 0)
