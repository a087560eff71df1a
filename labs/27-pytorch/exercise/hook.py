"""A communication hook of DDP that sends half of the bytes: float16 instead of float32.

DDP calls it for each bucket, and takes the numbers of the future as the gradients: the
mean over all ranks, as float32, in place of bucket.buffer().
"""

import torch
from torch import distributed


def hook(state, bucket):
    numbers = bucket.buffer()
    # Wrong: these are all the bytes, and the sum instead of the mean.
    work = distributed.all_reduce(numbers, async_op=True)
    return work.get_future().then(lambda future: future.value()[0])
