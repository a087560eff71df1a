# SPDX-License-Identifier: MIT
"""Training with gradwire gives the parameters of training with Gloo: the same bits with
two ranks, because a sum of two terms has one order, and nearly the same with
four. There the optimiser is SGD: Adam divides by the size of a gradient, and makes
large steps of the rounding errors of very small ones."""

import pytest
import torch
from torch.nn.parallel import DistributedDataParallel

STEPS = 100
LETTERS, WIDTH, LENGTH = 30, 32, 16


class Transformer(torch.nn.Module):
    """Predicts the next letter from those before."""

    def __init__(self):
        super().__init__()
        self.letter = torch.nn.Embedding(LETTERS, WIDTH)
        self.place = torch.nn.Parameter(torch.randn(LENGTH, WIDTH) / 10)
        layer = torch.nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, dropout=0, batch_first=True)
        self.layers = torch.nn.TransformerEncoder(layer, 2)
        self.output = torch.nn.Linear(WIDTH, LETTERS)
        self.register_buffer("mask", torch.full((LENGTH, LENGTH), -1e9).triu(1))

    def forward(self, letters):
        return self.output(self.layers(self.letter(letters) + self.place, self.mask))


def train(rank, optimizer=torch.optim.Adam, rate=1e-3):
    torch.manual_seed(3)
    model = DistributedDataParallel(Transformer(), bucket_cap_mb=0.05)
    optimizer = optimizer(model.parameters(), lr=rate)
    draw = torch.Generator().manual_seed(rank)
    for _ in range(STEPS):
        text = torch.randint(LETTERS, (4, LENGTH + 1), generator=draw).cumsum(1) % LETTERS
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(
            model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())
        loss.backward()
        optimizer.step()
    parameters = torch.cat([p.detach().flatten() for p in model.parameters()])
    return parameters.numpy(), loss.item()


def test_two_ranks_have_the_bits_of_gloo(ranks):
    gloo, gradwire = ranks(2, train, backend="gloo"), ranks(2, train)
    for (theirs, their_loss), (ours, our_loss) in zip(gloo, gradwire):
        assert ours.tobytes() == theirs.tobytes()
        assert our_loss == their_loss


def sums_of(rank, count=200_000):
    vector = torch.randn(count, generator=torch.Generator().manual_seed(rank))
    torch.distributed.all_reduce(vector)
    return vector.double().numpy()


def test_sums_of_four_ranks_are_those_of_gloo_within_rounding(ranks):
    gloo, gradwire = ranks(4, sums_of, backend="gloo"), ranks(4, sums_of)
    for theirs, ours in zip(gloo, gradwire):
        assert abs(ours - theirs).max() <= 1e-6 * abs(theirs).max()


def test_four_ranks_train_like_gloo(ranks):
    def run(rank):
        return train(rank, torch.optim.SGD, 0.05)

    gloo, gradwire = ranks(4, run, backend="gloo"), ranks(4, run)
    for (theirs, _), (ours, _) in zip(gloo, gradwire):
        difference = float(((ours - theirs) ** 2).sum() / (theirs ** 2).sum()) ** 0.5
        assert difference <= 1e-6


@pytest.mark.parametrize("size", [2, 4])
def test_all_ranks_have_the_same_bits(ranks, size):
    parameters = [found[0].tobytes() for found in ranks(size, train)]
    assert parameters == [parameters[0]] * size
