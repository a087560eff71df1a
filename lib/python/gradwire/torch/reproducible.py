# SPDX-License-Identifier: MIT
"""Gradients whose bits do not depend on the number of ranks, the wire or the algorithm.

    reproducible = Reproducible(model.parameters())
    for batch in batches:                       # the same batch on all ranks
        for part in batch[rank::size]:          # the parts of this rank
            loss_of(model(part)).backward()
            reproducible.add()
        reproducible.reduce()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

A sum of floats depends on the order of its terms. A sum of integers does not. So each
gradient of a part is rounded once to fixed point, in two integers of 64 bits, and the
integers are added, first on each rank and then by one all-reduce (Demmel and Nguyen,
"Fast Reproducible Floating-Point Summation", 2013, have the same idea for floats).
"""

from typing import Any, Iterable, List

import torch
import torch.distributed as dist

from .._arrays import empty

__all__ = ["Reproducible"]

_HIGH, _LOW = 2.0 ** 24, 2.0 ** 72  # units of the two integers: 2^-24 and 2^-72
_LARGEST = 2.0 ** 22  # of a gradient: its high integer has 46 bits
_PARTS = 1 << 16  # of a step: their sums have at most 62 bits


class Reproducible:
    """The mean gradient of the parts of a global batch, which all ranks share in any way.

    The result has the same bits for each number of ranks and each distribution of the
    parts, if the model computes the gradient of a part alike everywhere: use the same
    machine type, torch.set_num_threads(1), and parts that do not depend on the number of
    ranks. It is also more exact than a sum of float32: the error of a part is at most
    2^-73 per element.

    It costs an all-reduce of 16 bytes per element, four times the bytes of float32.

    Args:
        parameters: of the model, float32 or float64, on the CPU. Those of rank 0 are
            copied to all ranks.
        group: the process group; None: the default one, or no other rank if there is none.
    """

    def __init__(self, parameters: Iterable[torch.nn.Parameter], group: Any = None):
        self._parameters = [p for p in parameters if p.requires_grad]
        if not self._parameters:
            raise ValueError("parameters: none of them requires a gradient")
        self._group = group
        self._means: List[Any] = [None] * len(self._parameters)
        self._sizes = [p.numel() for p in self._parameters]
        # High integers | low integers | unusable parts of each parameter | parts.
        elements, count = sum(self._sizes), len(self._sizes)
        self._sums = torch.from_numpy(empty(2 * elements + count + 1, "i64"))
        high, low, self._unusable, self._parts = self._sums.split([elements, elements, count, 1])
        self._high, self._low = high.split(self._sizes), low.split(self._sizes)
        if self._has_ranks():
            for p in self._parameters:
                dist.broadcast(p.data, 0, group=group)

    def add(self) -> None:
        """Takes the gradients of one part from the parameters, whose `grad` becomes None.
        A parameter without a gradient counts as 0.

        Raises:
            RuntimeError: the mean of the previous step is still in the gradients.
        """
        for i, p in enumerate(self._parameters):
            if p.grad is not None:
                if p.grad is self._means[i]:
                    raise RuntimeError(
                        "add: the mean of the previous step is still in the gradients; call "
                        "optimizer.zero_grad(set_to_none=True) after each step")
                self._add_gradient(i, p.grad.detach().flatten().double())
            p.grad = None
        self._parts += 1

    def reduce(self) -> int:
        """Sets `grad` of the parameters to the mean over all parts of all ranks. A collective
        call. Returns the number of these parts.

        A gradient that is not finite, or not below 2^22, makes the mean of its parameter NaN.

        Raises:
            ValueError: no rank has added a part, or they have added more than 65536.
        """
        if self._has_ranks():
            dist.all_reduce(self._sums, group=self._group)
        parts = int(self._parts)
        if not 0 < parts <= _PARTS:
            raise ValueError(f"reduce: a step must have 1 to {_PARTS} parts, not {parts}")
        for i, p in enumerate(self._parameters):
            total = self._high[i].double() / _HIGH + self._low[i].double() / _LOW
            if self._unusable[i]:
                total.fill_(float("nan"))
            p.grad = self._means[i] = (total / parts).to(p.dtype).view_as(p)
        self._sums.zero_()
        return parts

    def _add_gradient(self, i, gradient):
        if not bool((gradient.abs() < _LARGEST).all()):  # false for NaN, too
            self._unusable[i] += 1
            return
        high = (gradient * _HIGH).trunc_()
        low = (gradient - high / _HIGH).mul_(_LOW).round_()
        self._high[i].add_(high.long())
        self._low[i].add_(low.long())

    def _has_ranks(self):
        return dist.is_available() and dist.is_initialized()
