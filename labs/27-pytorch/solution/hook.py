"""A communication hook of DDP that sends half of the bytes. See the exercise."""

import torch
from torch import distributed


def hook(state, bucket):
    numbers = bucket.buffer()
    # Divided first: a sum of many float16 may be larger than float16 can hold.
    half = (numbers / distributed.get_world_size()).to(torch.float16)
    work = distributed.all_reduce(half, async_op=True)
    return work.get_future().then(lambda future: numbers.copy_(future.value()[0]))
