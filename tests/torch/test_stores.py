# SPDX-License-Identifier: MIT
"""Every store of PyTorch is a rendezvous of gradwire's ranks."""

import socket

import pytest
import torch
import torch.distributed as dist


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def use(store, rank, size):
    dist.destroy_process_group()
    dist.init_process_group("gradwire", store=store, rank=rank, world_size=size)
    tensor = torch.full((3000,), rank + 1.0)
    dist.all_reduce(tensor)
    assert tensor.eq(size * (size + 1) / 2).all()
    dist.barrier()


@pytest.mark.parametrize("size", [1, 3])
def test_a_file(ranks, tmp_path, size):
    path = str(tmp_path / "file")
    ranks(size, lambda rank: use(dist.FileStore(path, size), rank, size))


@pytest.mark.parametrize("size", [1, 3])
def test_tcp(ranks, size):
    port = free_port()
    ranks(size, lambda rank: use(
        dist.TCPStore("127.0.0.1", port, size, rank == 0), rank, size))


def test_a_prefix_of_another_store(ranks, tmp_path):
    path = str(tmp_path / "file")
    ranks(2, lambda rank: use(
        dist.PrefixStore("job/7", dist.FileStore(path, 2)), rank, 2))


def test_memory_of_one_process(ranks):
    ranks(1, lambda rank: use(dist.HashStore(), rank, 1))


def test_many_groups_one_after_another(ranks, tmp_path):
    def run(rank):
        for turn in range(20):
            use(dist.FileStore(str(tmp_path / str(turn)), 2), rank, 2)

    ranks(2, run)
