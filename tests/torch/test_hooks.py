# SPDX-License-Identifier: MIT
"""Hooks that compress gradients: their error, its feedback, and the bytes they send."""

import pytest
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import gradwire.torch
from gradwire.torch import hooks

STATES = {
    "float16": lambda **options: hooks.Rounded(torch.float16, **options),
    "bfloat16": lambda **options: hooks.Rounded(torch.bfloat16, **options),
    "int8": lambda **options: hooks.Quantised(**options),
}
# Of the largest element: rounding the gradient, and the sum.
ERRORS = {"float16": 2e-3, "bfloat16": 2e-2, "int8": 2 / 127}
COUNT = 100_000


def gradient_of(rank, count=COUNT):
    return torch.randn(count, generator=torch.Generator().manual_seed(rank))


def mean(size):
    return sum(gradient_of(rank) for rank in range(size)) / size


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("name", STATES)
def test_the_error_of_one_step_is_bounded(ranks, name, size):
    def run(rank):
        gradient = gradient_of(rank)
        result = STATES[name]().reduce(0, gradient).wait()
        assert result is gradient or torch.equal(result, gradient)
        return ((gradient - mean(size)).abs().max() / mean(size).abs().max()).item()

    found = ranks(size, run)
    assert max(found) <= ERRORS[name] * 1.5
    assert found == [found[0]] * size


@pytest.mark.parametrize("name", STATES)
def test_feedback_removes_the_error_over_the_steps(ranks, name):
    """The same gradients again and again: the mean result approaches the true mean."""

    def run(rank):
        errors = []
        for feedback in (True, False):
            state, total = STATES[name](feedback=feedback), torch.zeros(COUNT)
            for _ in range(30):
                total += state.reduce(0, gradient_of(rank)).wait()
            errors.append((total / 30 - mean(2)).abs().max().item())
        return errors

    for with_feedback, without in ranks(2, run):
        assert with_feedback < without / (3 if name == "int8" else 1.5)


@pytest.mark.parametrize("size", [2, 4])
def test_the_bytes_that_are_sent(ranks, size):
    def run(rank):
        count = size * 1024 * 50
        sent = {}
        for name, state in [("none", None), *((n, make()) for n, make in STATES.items())]:
            gradient = gradient_of(rank, count)
            before = gradwire.torch.bytes_sent()
            if state:
                state.reduce(0, gradient).wait()
            else:
                dist.all_reduce(gradient)
            sent[name] = gradwire.torch.bytes_sent() - before
            dist.barrier()
        return sent

    for sent in ranks(size, run):
        assert sent["none"] > 0
        assert sent["float16"] == sent["bfloat16"] == sent["none"] / 2
        assert sent["int8"] == pytest.approx(sent["none"] * (1024 + 4) / 4096, rel=0.01)


def train(rank, state, steps=60):
    torch.manual_seed(1)
    network = torch.nn.Sequential(torch.nn.Linear(20, 50), torch.nn.Tanh(), torch.nn.Linear(50, 1))
    model = DistributedDataParallel(network, bucket_cap_mb=0.002)
    if state:
        model.register_comm_hook(state, hooks.compress)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = torch.randn(64, 20, generator=torch.Generator().manual_seed(rank))
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (model(data) - data.sum(1, keepdim=True).sin()).square().mean()
        loss.backward()
        optimizer.step()
    dist.all_reduce(loss.detach_())
    return loss.item() / 2


@pytest.mark.parametrize("name", STATES)
def test_training_reaches_the_loss_of_exact_gradients(ranks, name):
    def run(rank):
        return train(rank, None), train(rank, STATES[name]())

    for exact, compressed in ranks(2, run):
        assert compressed == pytest.approx(exact, rel=0.05)


def test_hooks_of_pytorch_that_wait_in_their_callbacks(ranks):
    """PowerSGD waits for collectives in the callbacks of others."""
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook

    def run(rank):
        torch.manual_seed(1)
        model = DistributedDataParallel(torch.nn.Linear(200, 200))
        state = powerSGD_hook.PowerSGDState(None, 2, start_powerSGD_iter=2)
        model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
        for _ in range(6):
            model(torch.randn(8, 200)).square().mean().backward()

    ranks(2, run)


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="float16 or bfloat16"):
        hooks.Rounded(torch.float32)
    with pytest.raises(ValueError, match="at least 1"):
        hooks.Quantised(block=0)
