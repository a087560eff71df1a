# SPDX-License-Identifier: MIT
"""gradwire.torch.Embedding against torch.nn.Embedding."""

import subprocess
import sys

import pytest
from conftest import ROOT

torch = pytest.importorskip("torch", reason="python3-torch is not installed")
from torch import nn  # noqa: E402

import gradwire  # noqa: E402
import gradwire.torch  # noqa: E402

ROWS, DIM, RATE = 50, 8, 0.125


@pytest.fixture
def server():
    with gradwire.Cluster(servers=3, replicas=2) as cluster:
        with gradwire.ParameterServer(cluster) as made:
            made.cluster = cluster
            yield made


def table(server, name="rows", **more):
    return server.table(name, DIM, "sgd", rate=RATE, init_range=0.5, **more)


def test_it_learns_what_a_local_embedding_learns(server):
    """With SGD, to the last bit or two: the server may fuse the product and the sum."""
    remote = gradwire.torch.Embedding(ROWS, DIM, table(server))
    local = nn.Embedding.from_pretrained(remote.weight, freeze=False)
    heads = [nn.Linear(DIM, 1) for _ in range(2)]
    heads[1].load_state_dict(heads[0].state_dict())
    optimisers = [torch.optim.SGD(heads[0].parameters(), lr=RATE),
                  torch.optim.SGD([*heads[1].parameters(), *local.parameters()], lr=RATE)]
    torch.manual_seed(1)
    for step in range(40):
        indices = torch.randint(ROWS, (5, 4))  # with repetitions
        target = torch.randn(5, 1)
        for embedding, head, optimizer in zip((remote, local), heads, optimisers):
            optimizer.zero_grad()
            nn.functional.mse_loss(head(embedding(indices).sum(1)), target).backward()
            optimizer.step()
        if step == 20:
            server.cluster.kill(1)  # its rows have another copy
    assert torch.allclose(remote.weight, local.weight, rtol=1e-6, atol=1e-7)
    assert torch.allclose(heads[0].weight, heads[1].weight, rtol=1e-6, atol=1e-7)


def test_without_gradients_it_only_pulls(server):
    embedding = gradwire.torch.Embedding(ROWS, DIM, table(server))
    before = embedding.weight
    with torch.no_grad():
        got = embedding(torch.tensor([[3, 4], [4, 3]]))
    assert got.shape == (2, 2, DIM) and torch.equal(got[0, 0], before[3])
    assert embedding(torch.empty(0, 3, dtype=torch.long)).shape == (0, 3, DIM)
    assert torch.equal(embedding.weight, before)
    assert not list(embedding.parameters()) and not embedding.state_dict()


def test_scale_is_for_the_mean_of_several_workers(server):
    embedding = gradwire.torch.Embedding(ROWS, DIM, table(server), scale=0.5)
    before = embedding.weight
    embedding(torch.tensor([7])).sum().backward()
    assert torch.allclose(embedding.weight[7], before[7] - RATE * 0.5)


def test_errors_name_what_is_wrong(server):
    with pytest.raises(ValueError, match="^table: its rows have 8 floats instead of 16"):
        gradwire.torch.Embedding(ROWS, 16, table(server))
    embedding = gradwire.torch.Embedding(ROWS, DIM, table(server))
    for wrong in (-1, ROWS):
        with pytest.raises(IndexError, match=f"index {wrong} is not in 0 to 49"):
            embedding(torch.tensor([1, wrong]))


def test_the_recommender_learns_and_a_killed_server_costs_nothing():
    done = subprocess.run([sys.executable, ROOT / "labs/programs/recommend.py"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and "server 1 was killed" in lines, done.stdout
    assert int(lines[-1].split()[2].rstrip("%")) >= 95, done.stdout
