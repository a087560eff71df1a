# SPDX-License-Identifier: MIT
"""The speed of torch.distributed with gradwire and with Gloo.

    torch_speed.py [--ranks 2 4] [--rounds 7] [--wire shm] [--quick]

Each process has a group of each backend, and each round measures one after the
other, so that a disturbance of the machine meets both. The table has the medians of
the rounds, and of the ratios Gloo / gradwire. A goal that is missed is marked, and
the status is 1.

Gloo of PyTorch 1.13 has no reduce-scatter. "token" is the pattern of inference with
tensor parallelism: 96 all-reduces of 64 KiB. "step" is a step of
DistributedDataParallel on a network of 4 layers with 1.3 million parameters.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
import warnings
from multiprocessing import get_context

import torch
import torch.distributed as dist

import gradwire.torch  # noqa: F401

KIB, MIB = 1 << 10, 1 << 20
SIZES = [4 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB, 25 * MIB, 64 * MIB]
# The least ratio Gloo / gradwire by wire, ranks and row.
GOALS = {
    ("shm", 2, "all-reduce", 64 * KIB): 8, ("shm", 4, "all-reduce", 64 * KIB): 20,
    ("shm", 2, "all-reduce", 25 * MIB): 3, ("shm", 4, "all-reduce", 25 * MIB): 2.5,
    ("shm", 2, "step", 0): 1, ("shm", 4, "step", 0): 1,
    ("tcp", 2, "all-reduce", 64 * KIB): 1.2, ("tcp", 4, "all-reduce", 64 * KIB): 1.2,
    ("tcp", 2, "all-reduce", 25 * MIB): 1.2, ("tcp", 4, "all-reduce", 25 * MIB): 1.2,
    ("tcp", 2, "step", 0): 1, ("tcp", 4, "step", 0): 1,
}


def all_reduce(size, group):
    tensor = torch.ones(size // 4)
    return lambda: dist.all_reduce(tensor, group=group)


def all_gather(size, group):
    tensor = torch.ones(size // 4)
    outputs = [torch.empty_like(tensor) for _ in range(dist.get_world_size())]
    return lambda: dist.all_gather(outputs, tensor, group=group)


def reduce_scatter(size, group):
    ranks = dist.get_world_size()
    inputs, output = torch.ones(size // 4 * ranks), torch.empty(size // 4)
    return lambda: dist._reduce_scatter_base(output, inputs, group=group)


def token(_, group):
    call = all_reduce(64 * KIB, group)

    def run():
        for _ in range(96):
            call()

    return run


def step(_, group):
    torch.manual_seed(0)
    layers = [torch.nn.Linear(512, 512), torch.nn.ReLU()] * 4
    network = torch.nn.Sequential(torch.nn.Linear(512, 512), *layers, torch.nn.Linear(512, 10))
    model = torch.nn.parallel.DistributedDataParallel(network, process_group=group)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    data = torch.randn(32, 512)

    def run():
        optimizer.zero_grad()
        model(data).square().mean().backward()
        optimizer.step()

    return run


def rows(quick):
    sizes = [64 * KIB, 25 * MIB] if quick else SIZES
    for operation in [all_reduce] if quick else [all_reduce, all_gather, reduce_scatter]:
        for size in sizes:
            yield operation, size, max(8, min(100, 20 * MIB // size))
    yield token, 0, 1
    yield step, 0, 10


def seconds_of(call, repeats):
    dist.barrier()
    call()
    begin = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - begin) / repeats


def measure(operation, size, repeats, groups, rounds):
    """Seconds per call for each backend, one list each."""
    calls = {}
    for name, group in groups.items():
        if not (operation is reduce_scatter and name == "gloo"):
            calls[name] = operation(size, group)
    times = {name: [] for name in groups}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(seconds_of(call, repeats))
    return times


def text_of(size):
    if size == 0:
        return ""
    return f"{size // KIB} KiB" if size < MIB else f"{size // MIB} MiB"


def report(key, gloo, ours):
    """A line of the table; false: the goal is missed."""
    wire, ranks, operation, size = key
    line = f"{wire:4} {ranks:5}  {operation:15}{text_of(size):>8}"
    if not gloo:
        print(f"{line}{'-':>12}{statistics.median(ours) * 1e6:12.1f}", flush=True)
        return True
    ratio = statistics.median(a / b for a, b in zip(gloo, ours))
    goal = GOALS.get(key, 0)
    missed = ratio < goal
    note = f"   {'MISSED' if missed else 'goal'}: {goal}" if goal else ""
    print(f"{line}{statistics.median(gloo) * 1e6:12.1f}{statistics.median(ours) * 1e6:12.1f}"
          f"{ratio:8.2f}{note}", flush=True)
    return not missed


def run_rank(rank, ranks, arguments, store, result):
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # the private names of 1.13
    os.environ["GW_WIRE"] = arguments.wire
    dist.init_process_group("gradwire", init_method=f"file://{store}", rank=rank,
                            world_size=ranks)
    groups = {"gloo": dist.new_group(backend="gloo"), "gradwire": dist.group.WORLD}
    met = True
    for operation, size, repeats in rows(arguments.quick):
        times = measure(operation, size, repeats, groups, arguments.rounds)
        if rank == 0:
            name = operation.__name__.replace("_", "-")
            met &= report((arguments.wire, ranks, name, size), times["gloo"], times["gradwire"])
    if rank == 0:
        result.put(met)
    dist.barrier()
    dist.destroy_process_group()


def run_ranks(ranks, arguments):
    fork = get_context("fork")
    result = fork.SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        processes = [fork.Process(target=run_rank, args=(
            rank, ranks, arguments, f"{folder}/store", result)) for rank in range(ranks)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
    return not result.empty() and result.get()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--wire", default="shm", help="shm or tcp. Default: shm.")
    parser.add_argument("--quick", action="store_true", help="Only the rows with goals.")
    arguments = parser.parse_args()
    print("wire ranks  operation          size     Gloo us gradwire us   ratio")
    return all([run_ranks(ranks, arguments) for ranks in arguments.ranks])


if __name__ == "__main__":
    sys.exit(not main())
