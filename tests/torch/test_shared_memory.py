# SPDX-License-Identifier: MIT
"""Tensors and gradient buckets in memory that the ranks of a host map."""

import os
import threading

import torch
import torch.distributed as dist

import gradwire.torch

LARGE, SMALL = 1 << 20, 1 << 10  # elements


def is_shared(tensor):
    address = tensor.data_ptr()
    with open("/proc/self/maps") as maps:
        for line in maps:
            begin, end = (int(number, 16) for number in line.split()[0].split("-"))
            if begin <= address < end:
                return "/memfd:" in line
    raise AssertionError(f"{address:x} is not mapped")


def files():
    return len(os.listdir("/proc/self/fd"))


def test_large_tensors_are_shared_in_the_block():
    before = torch.empty(LARGE)
    with gradwire.torch.shared_memory():
        large, small = torch.zeros(LARGE), torch.zeros(SMALL)
        with gradwire.torch.shared_memory():
            pass
        nested = torch.ones(LARGE)
        elsewhere = []
        thread = threading.Thread(target=lambda: elsewhere.append(torch.empty(LARGE)))
        thread.start()
        thread.join()
    after = torch.empty(LARGE)
    assert is_shared(large) and is_shared(nested)
    assert not any(map(is_shared, [before, small, elsewhere[0], after]))
    assert float(large.sum()) == 0 and float(nested.sum()) == LARGE


def test_the_block_ends_with_an_exception():
    try:
        with gradwire.torch.shared_memory():
            raise KeyError
    except KeyError:
        assert not is_shared(torch.empty(LARGE))


def test_memory_is_given_back():
    begin = files()
    for _ in range(50):
        with gradwire.torch.shared_memory():
            tensor = torch.empty(LARGE)
        grown = tensor.resize_(2 * LARGE).fill_(1)  # by the allocator of the tensor
        assert float(grown.sum()) == 2 * LARGE
    assert files() <= begin + 2


def network():
    torch.manual_seed(3)
    return torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(4)))


def train(rank, wrapper):
    model = wrapper(network(), bucket_cap_mb=1)
    shared = []

    def hook(_, bucket):
        shared.append(is_shared(bucket.buffer()))
        work = dist.all_reduce(bucket.buffer().div_(2), async_op=True)
        return work.get_future().then(lambda done: done.value()[0])
    model.register_comm_hook(None, hook)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    draw = torch.Generator().manual_seed(rank)
    for _ in range(4):
        optimizer.zero_grad()
        model(torch.randn(8, 512, generator=draw)).square().mean().backward()
        optimizer.step()
    parameters = torch.cat([p.detach().flatten() for p in model.parameters()])
    return shared, parameters.numpy().tobytes()


def test_buckets_are_shared_and_the_bits_are_the_same(ranks):
    plain = ranks(2, lambda rank: train(rank, torch.nn.parallel.DistributedDataParallel))
    ours = ranks(2, lambda rank: train(rank, gradwire.torch.DistributedDataParallel))
    for (places, bits), (_, plain_bits) in zip(ours, plain):
        assert len(places) > 4 and all(places)
        assert bits == plain_bits
    assert not any(place for places, _ in plain for place in places)
