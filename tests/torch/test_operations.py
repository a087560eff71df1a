# SPDX-License-Identifier: MIT
"""Each operation of c10d against the same operation on the inputs of all ranks."""

import itertools

import pytest
import torch
import torch.distributed as dist
from torch.distributed import ReduceOp

INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
COMPLEX = [torch.complex64, torch.complex128]
ALL = [*INTEGERS, *FLOATS, *COMPLEX, torch.bool]
# The paths of small, middle and large calls.
COUNTS = [1, 1000, 20_000, 250_000]


def of_rank(rank, dtype, count=1000):
    numbers = torch.arange(count) % 5 + rank
    return (numbers % 2 == 0) if dtype == torch.bool else (numbers + 1).to(dtype)


def bits(function):
    def reduce(tensors):
        result = tensors[0].clone()
        for tensor in tensors[1:]:
            result = function(result, tensor)
        return result

    return reduce


EXPECTED = {
    ReduceOp.SUM: bits(lambda a, b: (a + b).to(a.dtype)),
    ReduceOp.PRODUCT: bits(lambda a, b: (a * b).to(a.dtype)),
    ReduceOp.MIN: bits(torch.minimum),
    ReduceOp.MAX: bits(torch.maximum),
    ReduceOp.BAND: bits(torch.bitwise_and),
    ReduceOp.BOR: bits(torch.bitwise_or),
    ReduceOp.BXOR: bits(torch.bitwise_xor),
}


def is_allowed(op, dtype):
    if op in (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR):
        return dtype in INTEGERS or dtype == torch.bool
    if dtype in COMPLEX:
        return op == ReduceOp.SUM
    return True


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_every_type_and_reduction(ranks, size):
    def run(rank):
        for dtype, (op, expected) in itertools.product(ALL, EXPECTED.items()):
            if not is_allowed(op, dtype):
                continue
            inputs = [of_rank(r, dtype) for r in range(size)]
            want = expected(inputs)
            tensor = inputs[rank].clone()
            dist.all_reduce(tensor, op)
            assert torch.equal(tensor, want), (dtype, op)
            tensor = inputs[rank].clone()
            dist.reduce(tensor, size - 1, op)
            assert rank != size - 1 or torch.equal(tensor, want), (dtype, op)

    ranks(size, run)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("size", [2, 3])
def test_every_type_is_moved(ranks, size, count):
    def run(rank):
        for dtype in ALL:
            inputs = [of_rank(r, dtype, count) for r in range(size)]
            own = inputs[rank]
            check_gathers(rank, size, own, inputs)
            tensor = own.clone()
            dist.broadcast(tensor, 1)
            assert torch.equal(tensor, inputs[1])
            check_all_to_all(rank, size, inputs)

    ranks(size, run)


@pytest.mark.parametrize("size", [2, 4])
def test_a_large_all_gather(ranks, size):
    def run(rank):
        inputs = [of_rank(r, torch.float32, 1_000_000).view(1000, 1000) for r in range(size)]
        gathered = empties(inputs[0], size)
        gathered[1] = gathered[1].t()
        dist.all_gather(gathered, inputs[rank])
        assert all(map(torch.equal, gathered, inputs))

    ranks(size, run)


def empties(like, count):
    return [torch.empty_like(like) for _ in range(count)]


def check_gathers(rank, size, own, inputs):
    gathered = empties(own, size)
    dist.all_gather(gathered, own)
    assert all(map(torch.equal, gathered, inputs))
    whole = torch.empty(size * own.numel(), dtype=own.dtype)
    dist._all_gather_base(whole, own)
    assert torch.equal(whole, torch.cat(inputs))
    gathered = empties(own, size)
    dist.gather(own, gathered if rank == 1 else None, dst=1)
    assert rank != 1 or all(map(torch.equal, gathered, inputs))
    lists = [empties(own, 2) for _ in range(size)]
    dist.all_gather_coalesced(lists, [own, own])
    for r in range(size):
        assert torch.equal(lists[r][0], inputs[r]) and torch.equal(lists[r][1], inputs[r])
    tensor = torch.empty_like(own)
    dist.scatter(tensor, inputs if rank == 1 else None, src=1)
    assert torch.equal(tensor, own)


def check_all_to_all(rank, size, inputs):
    got = empties(inputs[0], size)
    dist.all_to_all(got, [inputs[rank]] * size)
    assert all(map(torch.equal, got, inputs))
    whole = torch.empty(size * inputs[0].numel(), dtype=inputs[0].dtype)
    dist.all_to_all_single(whole, inputs[rank].repeat(size))
    assert torch.equal(whole, torch.cat(inputs))


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("size", [2, 3, 4])
def test_reduce_scatter(ranks, size, count):
    def run(rank):
        for dtype in (torch.float32, torch.int64, torch.bfloat16):
            blocks = [[of_rank(r + b, dtype, count) for b in range(size)] for r in range(size)]
            want = sum(blocks[r][rank].to(torch.float64) for r in range(size)).to(dtype)
            output = torch.empty_like(want)
            dist.reduce_scatter(output, blocks[rank])
            assert torch.equal(output, want)
            output = torch.empty_like(want)
            dist._reduce_scatter_base(output, torch.cat(blocks[rank]))
            assert torch.equal(output, want)

    ranks(size, run)


def test_unequal_all_to_all(ranks):
    def run(rank):
        sends, receives = [rank + 1, 0, 2], [[1, 2, 3], [0, 0, 0], [2, 2, 2]][rank]
        numbers = torch.arange(sum(sends) * 2).view(-1, 2) + 100 * rank
        output = torch.empty(sum(receives), 2, dtype=numbers.dtype)
        dist.all_to_all_single(output, numbers, receives, sends)
        parts = []
        for r in range(3):
            theirs = torch.arange((r + 3) * 2).view(-1, 2) + 100 * r
            parts.append(theirs.split([r + 1, 0, 2])[rank])
        assert torch.equal(output, torch.cat(parts))

    ranks(3, run)


@pytest.mark.parametrize("count", COUNTS)
def test_coalesced_all_reduce(ranks, count):
    def run(rank):
        tensors = [of_rank(rank + i, torch.float32, count + i) for i in range(3)]
        dist.all_reduce_coalesced(tensors)
        for i, tensor in enumerate(tensors):
            assert torch.equal(tensor, sum(
                of_rank(r + i, torch.float32, count + i) for r in range(3)))

    ranks(3, run)


@pytest.mark.parametrize("rows", [4, 700])
def test_tensors_that_are_not_contiguous(ranks, rows):
    def run(rank):
        inputs = [of_rank(r, torch.float32, rows * 30).view(rows, 30) for r in range(2)]
        tensor = inputs[rank].clone().t()
        dist.all_reduce(tensor)
        assert torch.equal(tensor, (inputs[0] + inputs[1]).t())
        tensor = inputs[rank].clone()
        dist.broadcast(tensor[:, ::2], 0)
        assert torch.equal(tensor[:, ::2], inputs[0][:, ::2])
        assert torch.equal(tensor[:, 1::2], inputs[rank][:, 1::2])
        gathered = [torch.zeros(30, rows).t() for _ in range(2)]
        dist.all_gather(gathered, inputs[rank].t().contiguous().t())
        assert all(map(torch.equal, gathered, inputs))

    ranks(2, run)


def test_empty_tensors(ranks):
    def run(rank):
        nothing = torch.empty(0)
        dist.all_reduce(nothing)
        dist.broadcast(nothing, 0)
        dist.all_gather([torch.empty(0), torch.empty(0)], nothing)
        if rank == 0:
            dist.send(nothing, 1)
        else:
            dist.recv(nothing, 0)

    ranks(2, run)


def test_sparse_all_reduce(ranks):
    def run(rank):
        dense = torch.zeros(20, 3)
        dense[rank::4] = rank + 1
        tensor = dense.to_sparse()
        dist.all_reduce(tensor)
        want = torch.zeros(20, 3)
        for r in range(3):
            want[r::4] += r + 1
        assert torch.equal(tensor.to_dense(), want)

    ranks(3, run)


def test_average(ranks):
    def run(rank):
        tensor = torch.full((5000,), float(rank))
        work = dist.distributed_c10d._get_default_group().allreduce(
            [tensor], options(ReduceOp.AVG))
        work.wait()
        assert torch.equal(tensor, torch.full((5000,), 1.0))

    ranks(3, run)


def options(op):
    made = dist.AllreduceOptions()
    made.reduceOp = op
    return made


def test_messages_have_tags_and_any_source(ranks):
    def run(rank):
        if rank == 0:
            first, second = torch.zeros(5), torch.zeros(9)
            assert dist.recv(second, 1, tag=2) == 1
            assert dist.recv(first, 1, tag=1) == 1
            assert first.sum() == 5 and second.sum() == 18
            sources = sorted(dist.recv(first) for _ in range(4))
            assert sources == [1, 1, 2, 2]
            return
        if rank == 1:
            dist.isend(torch.ones(5), 0, tag=1).wait()
            dist.isend(torch.full((9,), 2.0), 0, tag=2).wait()
        for _ in range(2):
            dist.send(torch.ones(5), 0)

    ranks(3, run)


def test_many_messages_in_flight(ranks):
    def run(rank):
        peer = 1 - rank
        got = [torch.zeros(3000) for _ in range(50)]
        receives = [dist.irecv(tensor, peer, tag=i) for i, tensor in enumerate(got)]
        sends = [dist.isend(torch.full((3000,), float(i)), peer, tag=i)
                 for i in reversed(range(50))]
        for work in receives + sends:
            work.wait()
        assert all(tensor.eq(i).all() for i, tensor in enumerate(got))

    ranks(2, run)


def test_objects(ranks):
    def run(rank):
        mine = {"rank": rank, "list": list(range(100 * rank))}
        gathered = [None] * 3
        dist.all_gather_object(gathered, mine)
        assert [item["rank"] for item in gathered] == [0, 1, 2]
        assert len(gathered[2]["list"]) == 200
        objects = [mine, "text"] if rank == 1 else [None, None]
        dist.broadcast_object_list(objects, src=1)
        assert objects == [{"rank": 1, "list": list(range(100))}, "text"]
        got = [None]
        dist.scatter_object_list(got, ["a", {"b": 1}, None] if rank == 0 else None, src=0)
        assert got[0] == ["a", {"b": 1}, None][rank]
        dist.gather_object(mine, gathered if rank == 2 else None, dst=2)

    ranks(3, run)


def test_subgroups(ranks):
    def run(rank):
        low, odd = dist.new_group([0, 1, 2]), dist.new_group([1, 3])
        for group, members in ((low, [0, 1, 2]), (odd, [1, 3])):
            tensor = torch.full((2000,), float(rank))
            if rank in members:
                dist.all_reduce(tensor, group=group)
                assert tensor.eq(sum(members)).all()
        dist.destroy_process_group(odd)
        dist.barrier()

    ranks(4, run)


def test_futures_and_asynchronous_work(ranks):
    def run(rank):
        tensors = [torch.full((3000,), float(i + rank)) for i in range(20)]
        works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
        sums = [work.get_future().then(lambda done: done.value()[0].sum()) for work in works]
        for i, future in enumerate(sums):
            assert future.wait() == 3000 * (2 * i + 1)
        for work in works:
            work.wait()
            assert work.is_completed() and work.is_success()
        assert torch.equal(works[3].result()[0], tensors[3])

    ranks(2, run)


def test_groups_of_gloo_and_gradwire_together(ranks):
    def run(rank):
        gloo = dist.new_group(backend="gloo")
        for group in (None, gloo):
            tensor = torch.ones(100)
            dist.all_reduce(tensor, group=group)
            assert tensor.eq(2).all()

    ranks(2, run)


def test_monitored_barrier_names_the_missing(outcomes):
    from datetime import timedelta

    def run(rank):
        if rank != 1:
            dist.monitored_barrier(timeout=timedelta(seconds=1))

    found = outcomes(3, run)
    assert "Rank 1 failed to pass monitoredBarrier in 1000 ms" in found[0].value
    assert "Rank 1 failed to pass monitoredBarrier" in found[2].value


@pytest.mark.parametrize("op", [ReduceOp.BAND, ReduceOp.BXOR])
def test_a_bitwise_reduction_of_floats_is_refused_before_it_begins(ranks, op):
    def run(rank):
        with pytest.raises(RuntimeError, match="needs integers"):
            dist.all_reduce(torch.ones(10), op)
        dist.barrier()

    ranks(2, run)
