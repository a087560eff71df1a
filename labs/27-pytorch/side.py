# SPDX-License-Identifier: MIT
"""DDP over a backend of torch.distributed; a rank of `collrun exec`.

    side.py train BACKEND     trains a small network, and shows its buckets
    side.py kill BACKEND      kills rank 1 in an all-reduce, and shows who notices
    side.py hook FILE         trains twice, without and with the hook of FILE

Rank 0 prints what it found; with `-o jsonl`, as a line of JSON. The ranks find each
other as those of gradwire.init do.
"""

import importlib.util
import json
import os
import signal
import sys
import time

import torch
from torch import distributed, nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.parallel import DistributedDataParallel

import gradwire.torch

STEPS, CAP_MB = 20, float(os.environ.get("CAP_MB", "1"))
WIDTH, LAYERS = 512, 4


def network():
    """LAYERS times WIDTH^2 numbers of 4 bytes: 1 MiB each, and no biases."""
    torch.manual_seed(1)
    layers = [nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS)]
    return nn.Sequential(*(part for layer in layers for part in (layer, nn.Tanh())))


class Buckets:
    """A hook that all-reduces as DDP does, and notes sizes and times."""

    def __init__(self, hook=None):
        self.inner, self.sizes, self.us = hook or allreduce_hook, [], []

    def hook(self, group, bucket):
        numbers, begin = bucket.buffer(), time.perf_counter()
        self.sizes.append(numbers.numel() * numbers.element_size())
        work = self.inner(group, bucket)

        def ended(future):
            self.us.append(1e6 * (time.perf_counter() - begin))
            return future.value()[0] if isinstance(future.value(), list) else future.value()
        return work.then(ended)


def trained(hook=None):
    """Trains; returns the network and the buckets of the last step."""
    model = DistributedDataParallel(network(), bucket_cap_mb=CAP_MB)
    buckets = Buckets(hook)
    model.register_comm_hook(None, buckets.hook)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    generator = torch.Generator().manual_seed(distributed.get_rank())
    for _ in range(STEPS):
        buckets.sizes, buckets.us = [], []
        x = torch.randn(16, WIDTH, generator=generator)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x).backward()
        optimizer.step()
    return model.module, buckets


def flat(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def train(backend):
    """With two ranks the sums have two terms, so that any order has the same bits."""
    model, buckets = trained()
    digest = flat(model).view(torch.int32).long().sum().item()
    return {"buckets": len(buckets.sizes), "bytes": sum(buckets.sizes), "digest": digest,
            "bucket_us": round(sorted(buckets.us)[len(buckets.us) // 2])}


def kill(backend):
    data, named = torch.zeros(100000), torch.zeros(1)
    store = distributed.distributed_c10d._get_default_store()
    distributed.all_reduce(data)
    if distributed.get_rank() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    begin = time.monotonic()
    try:
        while True:
            distributed.all_reduce(data)
    except RuntimeError as error:
        store.set(str(distributed.get_rank()), str(error).split("\n")[0])
    others = [r for r in range(distributed.get_world_size()) if r != 1]
    if distributed.get_rank():
        os._exit(0)
    errors = [store.get(str(rank)).decode() for rank in others]
    for rank, text in zip(others, errors):
        print(f"rank {rank}: {text[:200]}", file=sys.stderr)
    return {"errors": len(errors), "named": sum("rank 1" in text for text in errors),
            "ms": round(1e3 * (time.monotonic() - begin))}


def with_hook(path):
    spec = importlib.util.spec_from_file_location("hook", path)
    mine = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(mine)
    plain, _ = trained()
    seen, real = [], distributed.all_reduce

    def counted(tensor, *rest, **options):
        seen.append(tensor.numel() * tensor.element_size())
        return real(tensor, *rest, **options)
    distributed.all_reduce = counted
    try:
        model, buckets = trained(mine.hook)
    finally:
        distributed.all_reduce = real
    apart = (flat(model) - flat(plain)).norm() / (flat(plain) - flat(network())).norm()
    return {"bytes": sum(seen) // STEPS, "gradient_bytes": sum(buckets.sizes),
            "apart_percent": round(100 * apart.item(), 3)}


def main():
    what, operand = sys.argv[1:3]
    torch.set_num_threads(1)
    gradwire.torch.init_process_group("gradwire" if what == "hook" else operand)
    found = {"train": train, "kill": kill, "hook": with_hook}[what](operand)
    rank = distributed.get_rank()
    if rank == 0 and "jsonl" in sys.argv:
        print(json.dumps(found, separators=(",", ":")), flush=True)
    elif rank == 0:
        print(*(f"{name} {value}" for name, value in found.items()), sep="\n", flush=True)
    os._exit(0)  # without waiting for ranks that are dead


main()
