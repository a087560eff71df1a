# SPDX-License-Identifier: MIT
"""A rank: neither resident memory nor open files grow over 10,000 calls, nor over the
objects of the library."""

import gc
import os

import numpy as np

import gradwire

comm = gradwire.init()
p = comm.size
data, shared = np.ones(256), gradwire.empty(256)
rows = np.ones((p, 64))


def resident_pages():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1])


def calls(count):
    for _ in range(count):
        comm.allreduce(data)
        comm.allreduce(shared, wait=False).wait()
        comm.allgatherv(data, [256] * p)
        comm.alltoall(rows)
        gradwire.empty(1000)
        try:
            comm.allreduce(data[::2])
        except ValueError:
            pass


def objects(count):
    for _ in range(count):
        with comm.split(0) as part:
            part.allreduce(data, wait=False)  # and dropped
            part.barrier()
        plan = gradwire.Plan.make("allreduce", "ring", 4)
        assert plan.verify() and plan == gradwire.Plan.from_text(str(plan))
        assert len(list(gradwire.Events(10))) == 0


def grown(function, count, before):
    """Pages and files that calls of a function leave, once it has been warm."""
    function(before)
    gc.collect()
    pages, files = resident_pages(), len(os.listdir("/proc/self/fd"))
    function(count)
    gc.collect()
    return resident_pages() - pages, len(os.listdir("/proc/self/fd")) - files


for function, count, before in (calls, 2500, 500), (objects, 100, 20):
    pages, files = grown(function, count, before)
    assert pages < 256 and files < 10, f"{function.__name__}: {pages} pages, {files} files more"
print("ok\n", end="")
