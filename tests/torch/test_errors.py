# SPDX-License-Identifier: MIT
"""A lost, late or different rank is an exception on all ranks, which names the rank,
the operation and the number of the call."""

import os
import signal
import time

import pytest
import torch
import torch.distributed as dist

import gradwire.torch

SOON = 5  # seconds; the limit of the groups is 60


def test_a_killed_rank_is_named_on_all_ranks(outcomes):
    def train(rank):
        tensor = torch.ones(100_000)
        for step in range(100):
            dist.all_reduce(tensor)
            if step == 7 and rank == 1:
                os.kill(os.getpid(), signal.SIGKILL)

    begin = time.monotonic()
    found = outcomes(3, train)
    assert found[1].state == "died"
    for rank in 0, 2:
        assert found[rank].state == "error"
        assert f"rank {rank}, all_reduce, call 9: " in found[rank].value
        assert "rank 1 (pid " in found[rank].value
        assert found[rank].at - begin < SOON + 5


def test_a_rank_killed_in_the_backward_pass_ends_the_training_of_all(outcomes):
    def train(rank):
        torch.manual_seed(0)
        model = torch.nn.parallel.DistributedDataParallel(
            torch.nn.Sequential(*[torch.nn.Linear(100, 100) for _ in range(5)]),
            bucket_cap_mb=0.05)
        for step in range(50):
            if step == 5 and rank == 0:
                next(model.parameters()).register_hook(
                    lambda gradient: os.kill(os.getpid(), signal.SIGKILL))
            model(torch.ones(4, 100)).sum().backward()

    found = outcomes(3, train)
    assert found[0].state == "died"
    for outcome in found[1:]:
        assert outcome.state == "error"
        assert "rank 0 (pid " in outcome.value and "all_reduce, call " in outcome.value


def test_a_different_operation_is_named_on_all_ranks(outcomes):
    def run(rank):
        tensor = torch.ones(1000)
        dist.all_reduce(tensor)
        if rank == 2:
            dist.broadcast(tensor, 0)
        else:
            dist.all_reduce(tensor)
        dist.barrier()

    for outcome in outcomes(3, run):
        assert outcome.state == "error"
        assert "GW_EMISMATCH" in outcome.value
        assert "call 2: " in outcome.value
        assert "rank 2" in outcome.value and "broadcast" in outcome.value


def test_a_different_size_is_an_error_on_all_ranks(outcomes):
    def run(rank):
        dist.all_reduce(torch.ones(1000 + rank))

    for outcome in outcomes(2, run):
        assert outcome.state == "error"
        assert "GW_EMISMATCH" in outcome.value and "call 1: " in outcome.value


def test_a_late_rank_is_named(outcomes):
    def run(rank):
        if rank == 1:
            time.sleep(4)
        dist.all_reduce(torch.ones(10))

    found = outcomes(2, run, timeout=1)
    assert found[0].state == "error"
    assert "rank 0, all_reduce, call 1: Timed out " in found[0].value
    assert "rank 1" in found[0].value


def test_a_message_that_does_not_come_is_an_error_of_the_wait(outcomes):
    def run(rank):
        if rank == 0:
            dist.recv(torch.zeros(10), src=1, tag=5)
        else:
            time.sleep(3)
            dist.recv(torch.zeros(10), src=0)

    found = outcomes(2, run, timeout=1)
    assert "rank 0, recv, message 1: Timed out " in found[0].value
    assert "rank 0, recv, message 1: nothing came" in found[1].value


def test_a_receive_from_a_dead_rank_is_an_error(outcomes):
    def run(rank):
        if rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        dist.recv(torch.zeros(10), src=1)

    found = outcomes(2, run)
    assert found[0].state == "error"
    assert "recv, message 1: " in found[0].value and "rank 1 (pid " in found[0].value


def test_a_message_of_another_length_is_an_error(outcomes):
    def run(rank):
        if rank == 1:
            dist.send(torch.ones(10), 0)
            return
        with pytest.raises(RuntimeError, match="sent 40 bytes, but the receive is of 80"):
            dist.recv(torch.zeros(20), 1)

    assert [outcome.state for outcome in outcomes(2, run)] == ["done", "done"]


def test_messages_go_on_after_a_rank_has_left(outcomes):
    """Receives from any source look at all ranks, also at those that leave."""

    def run(rank):
        if rank == 2:
            dist.send(torch.full((4,), 2.0), 0)
            dist.destroy_process_group()
            return
        got = torch.zeros(4)
        if rank == 1:
            dist.recv(got, 0)
            dist.send(got + 1, 0)
            return got.tolist()
        dist.recv(got)
        time.sleep(0.5)
        dist.send(got, 1)
        dist.recv(got)
        return got.tolist()

    found = outcomes(3, run)
    assert [outcome.value for outcome in found] == [[3.0] * 4, [2.0] * 4, None]


def test_the_group_is_unusable_after_an_error(outcomes):
    def run(rank):
        for call in range(2):
            with pytest.raises(RuntimeError, match=f"call {call + 1}: .*GW_EMISMATCH"):
                dist.all_reduce(torch.ones(10 + rank))

    assert [outcome.state for outcome in outcomes(2, run)] == ["done", "done"]


def test_a_forked_process_ends_without_the_group(ranks):
    """Workers of a DataLoader inherit the group, but not its threads."""

    def run(rank):
        dist.all_reduce(torch.ones(10))
        child = os.fork()
        if child == 0:
            gradwire.torch.extension().close_all()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        tensor = torch.ones(10_000)
        dist.all_reduce(tensor)
        assert tensor.eq(2).all()

    ranks(2, run)


def test_an_exception_ends_the_other_ranks(outcomes):
    """A rank that ends with calls in its queue must not wait for the others."""

    def run(rank):
        if rank == 0:
            dist.destroy_process_group()
            return
        dist.all_reduce(torch.ones(10))

    found = outcomes(2, run)
    assert found[1].state == "error"
    assert "closed" in found[1].value
