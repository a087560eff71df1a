# SPDX-License-Identifier: MIT
"""Communication hooks of DistributedDataParallel that send fewer bytes.

    from gradwire.torch import hooks
    model = DistributedDataParallel(network)
    model.register_comm_hook(hooks.Rounded(torch.bfloat16), hooks.compress)

`Rounded` sends half of the bytes, `Quantised` about a quarter. Both feed their error
back: what rounding has removed from a gradient is added to the gradient of the
next step (Seide et al., "1-Bit Stochastic Gradient Descent", 2014; Karimireddy et
al., "Error Feedback Fixes SignSGD", 2019). So errors do not add up over the steps.

On one host the time of rounding is more than the saved time of copying. The hooks
are for ranks on several hosts, with a slow network between them.

They work with every backend that has all-reduce, all-to-all and all-gather.
"""

import torch
import torch.distributed as dist

__all__ = ["Rounded", "Quantised", "compress"]


def compress(state, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """The hook. `state` is a Rounded or a Quantised, one per model."""
    return state.reduce(bucket.index(), bucket.buffer())


class _ErrorFeedback:
    """The errors of the previous step, by the name of the vector that had them."""

    def __init__(self, enabled):
        self.enabled = enabled
        self._errors = {}

    def add(self, name, vector):
        """Adds the previous error to the vector, in place. DDP arranges its buckets
        again after the first step; errors of another size are forgotten."""
        error = self._errors.get(name)
        if self.enabled and error is not None and error.shape == vector.shape:
            vector.add_(error)
        return vector

    def keep(self, name, wanted, sent):
        if self.enabled:
            self._errors[name] = wanted - sent


class Rounded:
    """Gradients as torch.float16 or torch.bfloat16: half of the bytes of float32.

    float16 is more exact, but gradients below 6e-8 become 0, and above 65504
    infinite. `group` is the process group of the model; None: the default one.
    """

    def __init__(self, dtype=torch.float16, group=None, feedback=True):
        if dtype not in (torch.float16, torch.bfloat16):
            raise ValueError(f"hooks.Rounded: dtype must be float16 or bfloat16, not {dtype}")
        self.dtype, self.group = dtype, group
        self._feedback = _ErrorFeedback(feedback)

    def reduce(self, name, gradient):
        """A future of the mean gradient of all ranks, which is written to `gradient`."""
        group = self.group or dist.group.WORLD
        # Divided first: a sum of float16 could be infinite.
        self._feedback.add(name, gradient.div_(dist.get_world_size(group)))
        rounded = gradient.to(self.dtype)
        self._feedback.keep(name, gradient, rounded.to(gradient.dtype))
        work = dist.all_reduce(rounded, group=group, async_op=True)
        return work.get_future().then(lambda done: gradient.copy_(done.value()[0]))


class Quantised:
    """Gradients as int8 with one scale per block of elements: a quarter of the bytes
    of float32, and 4 more per block.

    The largest absolute value of a block becomes 127; the error of an element is
    half a step at most. Each rank adds one part of the vector, from the int8
    values of all ranks, and quantises the sum for the way back. That error is
    fed back by the rank which has made it.
    """

    def __init__(self, block=1024, group=None, feedback=True):
        if block < 1:
            raise ValueError(f"hooks.Quantised: block must be at least 1, not {block}")
        self.block, self.group = block, group
        self._feedback = _ErrorFeedback(feedback)

    def reduce(self, name, gradient):
        """A future of the mean gradient of all ranks, which is written to `gradient`."""
        group = self.group or dist.group.WORLD
        ranks = dist.get_world_size(group)
        self._feedback.add(name, gradient.div_(ranks))
        packed = self._quantise(name, gradient, ranks)
        received = torch.empty_like(packed)
        work = dist.all_to_all_single(received, packed, group=group, async_op=True)

        def return_sums(done):
            parts = _values(received, gradient.dtype).view(ranks, -1)
            total = self._feedback.add((name, "sum"), parts.sum(0))
            own = self._quantise((name, "sum"), total, 1)
            all_sums = received.new_empty((ranks * own.shape[0], own.shape[1]))
            dist._all_gather_base(all_sums, own, group=group)
            return gradient.copy_(_values(all_sums, gradient.dtype)[: gradient.numel()])

        return work.get_future().then(return_sums)

    def _quantise(self, name, vector, parts):
        """Rows of one block each: int8 values and the bytes of a float32 scale. The
        rows can be divided among `parts` ranks."""
        unit = self.block * parts
        rows = -(-vector.numel() // unit) * parts
        padded = vector.new_zeros(rows, self.block)
        padded.view(-1)[: vector.numel()] = vector
        scales = (padded.abs().amax(1, keepdim=True) / 127).to(torch.float32)
        values = (padded / scales.clamp(min=torch.finfo(torch.float32).tiny)).round_()
        packed = torch.cat([values.to(torch.int8), scales.view(torch.int8)], 1)
        self._feedback.keep(name, vector, _values(packed, vector.dtype)[: vector.numel()])
        return packed


def _values(packed, dtype):
    """The elements of packed rows, as one vector."""
    scales = packed[:, -4:].contiguous().view(torch.float32)
    return (packed[:, :-4].to(dtype) * scales.to(dtype)).view(-1)
