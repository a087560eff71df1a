# SPDX-License-Identifier: MIT
"""A small recommender whose embeddings are on parameter servers.

The score of a user and an item is the product of their rows, and what a small network

After a quarter of the steps one of the servers is killed: its rows survive on the other two.

    python3 recommend.py

Here the servers are threads of this process. With GW_CONTROLLERS they are those of a
cluster, and many processes of this program share the rows.
"""

import os

import torch
from torch import nn

import gradwire
import gradwire.torch

USERS, ITEMS, DIM, BATCH, STEPS, RATE = 400, 200, 8, 128, 600, 0.2


class Recommender(nn.Module):
    def __init__(self, server):
        super().__init__()
        rows = dict(width=DIM, updater="sgd", rate=RATE, init_range=0.5)
        self.users = gradwire.torch.Embedding(USERS, DIM, server.table("users", **rows))
        self.items = gradwire.torch.Embedding(ITEMS, DIM, server.table("items", **rows, seed=1))
        self.network = nn.Sequential(nn.Linear(2 * DIM, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, user, item):
        u, i = self.users(user), self.items(item)
        return (u * i).sum(-1) + self.network(torch.cat([u, i], -1)).squeeze(-1)


def ratings(generator):
    """Endless batches: users and items have one of four tastes, and like their own."""
    while True:
        user = torch.randint(USERS, (BATCH,), generator=generator)
        item = torch.randint(ITEMS, (BATCH,), generator=generator)
        yield user, item, (user % 4 == item % 4).float()


cluster = None if "GW_CONTROLLERS" in os.environ else gradwire.Cluster(servers=3, replicas=2)
torch.manual_seed(1)
with gradwire.ParameterServer(cluster) as server:
    model = Recommender(server)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE / BATCH)  # of the network alone
    rightness = 0.0
    for step, (user, item, liked) in zip(range(STEPS), ratings(torch.Generator().manual_seed(2))):
        score = model(user, item)
        loss = nn.functional.binary_cross_entropy_with_logits(score, liked, reduction="sum")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        right = ((score > 0) == liked.bool()).float().mean().item()
        rightness += 0.05 * (right - rightness)
        if step % 100 == 99:
            print(f"step {step + 1}: {rightness:.0%} right")
        if cluster and step == STEPS // 4:
            cluster.kill(1)
            print("server 1 was killed")
