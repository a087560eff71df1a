# SPDX-License-Identifier: MIT
"""Process groups of several processes. $B is the build folder.

`ranks(4, function)` runs function(rank) in four processes and returns the four
results; `outcomes` also returns errors. The processes are forked, so that each need
not import torch again: a test must not compute with tensors before.
"""

import os
import sys
import time
import traceback
from datetime import timedelta
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("B", "build")
os.environ.setdefault("GRADWIRE_LIBRARY", str(BUILD / "libgradwire.so"))
os.environ.setdefault("GRADWIRE_TORCH", str(BUILD / "torch" / "_torch.so"))
sys.path.insert(0, str(ROOT / "lib" / "python"))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

import gradwire.torch  # noqa: E402, F401

fork = get_context("fork")


class Outcome(NamedTuple):
    """`value` is the result, the text of the exception, or None for a dead rank."""

    state: str  # "done", "error" or "died"
    value: Any
    at: float  # time.monotonic() of its end


def run_rank(pipe, function, rank, size, folder, backend, timeout):
    torch.set_num_threads(1)
    try:
        dist.init_process_group(
            backend, init_method=f"file://{folder}/store", rank=rank, world_size=size,
            timeout=timedelta(seconds=timeout))
        value = function(rank)
        outcome = Outcome("done", value, time.monotonic())
    except Exception as error:
        outcome = Outcome("error", str(error), time.monotonic())
        traceback.print_exc()
    pipe.send(outcome)
    pipe.recv()  # all have ended: an early end is not an error of the others
    if dist.is_initialized():
        dist.destroy_process_group()


def receive(pipe, seconds=120):
    try:
        if pipe.poll(seconds):
            return pipe.recv()
    except EOFError:
        pass
    return Outcome("died", None, time.monotonic())


def start(size, function, folder, backend, timeout):
    pipes, processes = [], []
    for rank in range(size):
        own, other = fork.Pipe()
        process = fork.Process(target=run_rank, args=(
            other, function, rank, size, folder, backend, timeout))
        process.start()
        other.close()
        pipes.append(own)
        processes.append(process)
    return pipes, processes


def finish(pipes, processes):
    for pipe in pipes:
        try:
            pipe.send("end")
        except OSError:
            pass
    for process in processes:
        process.join(30)
        if process.is_alive():
            process.kill()
            process.join()


@pytest.fixture
def outcomes(tmp_path):
    def run(size, function, backend="gradwire", timeout=60):
        folder = tmp_path / str(time.monotonic_ns())
        folder.mkdir()
        pipes, processes = start(size, function, folder, backend, timeout)
        try:
            return [receive(pipe) for pipe in pipes]
        finally:
            finish(pipes, processes)

    return run


@pytest.fixture
def ranks(outcomes):
    def run(size, function, **options):
        found = outcomes(size, function, **options)
        assert all(outcome.state == "done" for outcome in found), found
        return [outcome.value for outcome in found]

    return run
