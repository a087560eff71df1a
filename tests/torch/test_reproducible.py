# SPDX-License-Identifier: MIT
"""Reproducible gradients: the same bits over all wires and numbers of ranks, and the right
mean."""

import pytest
import torch

from gradwire.torch import Reproducible
from test_bits import LENGTH, LETTERS, Transformer

STEPS, PARTS = 10, 12


def parts_of(step):
    draw = torch.Generator().manual_seed(step)
    return torch.randint(LETTERS, (PARTS, 2, LENGTH + 1), generator=draw)


def train(rank, size):
    torch.manual_seed(rank)  # the parameters of rank 0 count
    model = Transformer()
    gradients = Reproducible(model.parameters())
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(STEPS):
        for text in parts_of(step)[rank::size]:
            scores = model(text[:, :-1]).flatten(0, 1)
            torch.nn.functional.cross_entropy(scores, text[:, 1:].flatten()).backward()
            gradients.add()
        assert gradients.reduce() == PARTS
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return torch.cat([p.detach().flatten() for p in model.parameters()]).numpy().tobytes()


def test_the_bits_are_those_of_one_rank(ranks, monkeypatch):
    """5 ranks have unequal numbers of parts."""
    (alone,) = ranks(1, lambda rank: train(rank, 1))
    for wire, backend, sizes in (("shm", "gradwire", (2, 3, 4, 5)), ("tcp", "gradwire", (2, 3, 4)),
                                 ("ipc", "gradwire", (3,)), ("shm", "gloo", (3,))):
        monkeypatch.setenv("GW_WIRE", wire)
        for size in sizes:
            found = ranks(size, lambda rank, size=size: train(rank, size), backend=backend)
            assert found == [alone] * size, (wire, backend, size)


def means_of(rank, values):
    """The mean of the parts of `values` (parts, elements), of which each rank has every
    third one."""
    parameter = torch.nn.Parameter(torch.zeros(values.shape[1]))
    gradients = Reproducible([parameter])
    for part in values[rank::3]:
        parameter.grad = part.clone()
        gradients.add()
    gradients.reduce()
    return parameter.grad.numpy()


def test_the_mean_is_exact_to_float32(ranks):
    draw = torch.Generator().manual_seed(7)
    values = torch.randn(20, 1000, generator=draw) * 10.0 ** torch.arange(-10, 6).repeat(63)[:1000]
    expected = values.double().mean(0).float().numpy()
    for found in ranks(3, lambda rank: means_of(rank, values)):
        assert (found == expected).all()


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -(2.0 ** 22)])
def test_a_bad_gradient_is_not_hidden(ranks, bad):
    values = torch.ones(6, 4)
    values[4, 2] = bad
    for found in ranks(3, lambda rank: means_of(rank, values)):
        assert (found != found).all()


def test_the_previous_mean_does_not_count():
    parameter = torch.nn.Parameter(torch.zeros(1))
    gradients = Reproducible([parameter])
    (parameter * 2).sum().backward()
    gradients.add()
    gradients.reduce()
    (parameter * 2).sum().backward()
    with pytest.raises(RuntimeError, match="zero_grad"):
        gradients.add()


def test_a_step_needs_a_part(ranks):
    def run(rank):
        with pytest.raises(ValueError, match="not 0"):
            Reproducible([torch.nn.Parameter(torch.zeros(1))]).reduce()

    ranks(2, run)


def test_it_needs_parameters():
    with pytest.raises(ValueError, match="none of them requires a gradient"):
        Reproducible([])
