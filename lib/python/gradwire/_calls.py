# SPDX-License-Identifier: MIT
"""The struct gw_call of a collective, and the checks of its arguments before other ranks
are involved."""

from itertools import accumulate
from typing import Any, List, Optional

import numpy as np

from . import _arrays
from ._arrays import NAMES, View
from ._checks import instance, text, whole_numbers, word
from ._library import C, IN_PLACE
from .plan import Plan

REDUCTIONS = "sum prod min max avg land lor band bor".split()
COLLECTIVES = ("broadcast reduce allreduce gather scatter allgather "
               "reduce_scatter alltoall barrier scan exscan").split()
_INTEGERS_ONLY = ("land", "lor", "band", "bor")


class Blocks:
    """Counts and displacements of a v-variant."""

    def __init__(self, name: str, counts: Any, displs_name: str, displs: Any, ranks: int):
        self.numbers = whole_numbers(name, counts, ranks)
        self.begins: List[int] = [0, *accumulate(self.numbers[:-1])]
        if displs is not None:
            self.begins = whole_numbers(displs_name, displs, ranks)
        self.end = max((b + n for b, n in zip(self.begins, self.numbers) if n), default=0)
        self.counts = np.array(self.numbers, np.uintp)
        self.displs = None if displs is None else np.array(self.begins, np.uintp)

    @property
    def addresses(self) -> tuple:
        return (self.counts.ctypes.data,
                None if self.displs is None else self.displs.ctypes.data)


def reduction(op: Any, memory: View) -> int:
    """The number of a reduction, which the type must allow."""
    number = word("op", op, REDUCTIONS)
    if op in _INTEGERS_ONLY and NAMES[memory.type] in ("f16", "bf16", "f32", "f64"):
        raise TypeError(f"op: {op} is for integers, not for {NAMES[memory.type]}")
    if memory.dtype == np.dtype(bool) and op in ("sum", "prod", "avg"):
        raise TypeError(f"op: {op} is not for bool; use lor or land, or an integer type")
    return number


def place_algo(made: Any, algo: Any, name: str, ranks: int) -> None:
    """Sets the algorithm: a name, a Plan, or None."""
    if isinstance(algo, str):
        made.algo = text("algo", algo)
        if not C.gw_algo_find(made.collective, made.algo):
            raise ValueError(f"algo: {algo!r} is not an algorithm of {name}; "
                             f"gradwire.algorithms({name!r}, {ranks}) returns them")
    elif algo is not None:
        plan = instance("algo", algo, Plan)
        if (plan.collective, plan.ranks) != (name, ranks):
            raise ValueError(f"algo: it is a plan of {plan.collective} for {plan.ranks} ranks, "
                             f"not of {name} for {ranks}")
        made.plan = plan._address


def place_buffers(made: Any, name: str, memory: Optional[View], target: Optional[View],
                  rank: int, blocks: Optional[Blocks]) -> None:
    """Sets `in` and `out`, in place where the memory of one buffer is the other's, or its
    own block. Other overlaps are errors."""
    if name == "broadcast":
        setattr(made, "in", IN_PLACE)
        made.out = target.address if target else None
        return
    setattr(made, "in", memory.address if memory else None)
    made.out = target.address if target else None
    if not memory or not target or not memory.bytes or not target.bytes:
        return
    size = _arrays.SIZES[memory.type]
    own = (blocks.begins[rank] if blocks else rank * made.count) * size
    whole_in = name in ("scatter", "reduce_scatter")
    whole_out = name in ("gather", "allgather")
    if name == "alltoall" and blocks:  # the blocks would overwrite each other
        expect_apart(memory, target, "alltoallv has no form in place")
    elif memory.address + (own if whole_in else 0) == target.address + (own if whole_out else 0):
        setattr(made, "in", IN_PLACE)
        made.out = memory.address if whole_in else target.address
    else:
        expect_apart(memory, target)


def expect(name: str, memory: View, count: int) -> None:
    if memory.count != count:
        raise ValueError(f"{name}: it has {memory.count} elements instead of {count}")


def expect_at_least(name: str, memory: View, count: int) -> None:
    if memory.count < count:
        raise ValueError(f"{name}: it has {memory.count} elements, and the blocks end at {count}")


def expect_apart(memory: View, target: View,
                 hint: str = "pass the same memory for a call in place") -> None:
    if memory.address < target.address + target.bytes and \
            target.address < memory.address + memory.bytes:
        raise ValueError(f"out: it overlaps array; {hint}")
