# SPDX-License-Identifier: MIT
"""Embeddings whose rows are on parameter servers.

    server = gradwire.ParameterServer()
    items = server.table("items", width=16, updater="sgd", rate=0.1, init_range=0.1)
    embedding = gradwire.torch.Embedding(100000, 16, items)
    score = (embedding(a) * embedding(b)).sum(-1)
    loss(score).backward()

Forward pulls the distinct rows of a batch; backward pushes the sums of their gradients.
The servers update the rows. So no process needs room for all rows, a step sends only
those of its batch, and the rows survive the death of workers and servers.
"""

from typing import Any

import numpy as np
import torch
from torch.nn import functional

from ..servers import Table


class Embedding(torch.nn.Module):
    """As torch.nn.Embedding with plain gradients, but without a local weight: the updater
    of the table is the optimiser, and an optimiser of torch does not see the rows.

    The module has no parameters and nothing in its state_dict: ParameterServer.snapshot
    keeps the rows.

    Args:
        rows: indices are from 0 to rows - 1, which are the keys of the table.
        dim: floats per row; the width of the table.
        table: of ParameterServer.table. Updater "sgd" with rate r does what
            torch.optim.SGD(lr=r) does with the same gradient.
        scale: factor of the gradients; 1 / n for the mean of n workers.
    """

    def __init__(self, rows: int, dim: int, table: Table, *, scale: float = 1.0):
        super().__init__()
        if table.width != dim:
            raise ValueError(f"table: its rows have {table.width} floats instead of {dim}")
        self.rows, self.dim, self.table, self.scale = rows, dim, table, scale

    def forward(self, indices: torch.Tensor) -> torch.Tensor:
        """Returns the rows of the indices, of shape (*indices.shape, dim).

        Raises:
            IndexError: an index is not in 0 to rows - 1.
            Error: of Table.pull; backward: of Table.push.
        """
        if indices.numel() == 0:
            return torch.zeros(*indices.shape, self.dim)
        keys, places = indices.unique(return_inverse=True)
        if keys[0] < 0 or keys[-1] >= self.rows:
            wrong = keys[0] if keys[0] < 0 else keys[-1]
            raise IndexError(f"index {int(wrong)} is not in 0 to {self.rows - 1}")
        keys = keys.numpy()
        values = torch.from_numpy(self.table.pull(keys))
        if torch.is_grad_enabled():
            values.requires_grad_().register_hook(lambda gradient: self._push(keys, gradient))
        return functional.embedding(places, values)

    def _push(self, keys: np.ndarray, gradient: torch.Tensor) -> None:
        scaled = gradient if self.scale == 1 else gradient * self.scale
        self.table.push(keys, scaled.contiguous().numpy())

    @property
    def weight(self) -> torch.Tensor:
        """A copy of all rows, pulled now, of shape (rows, dim)."""
        return torch.from_numpy(self.table.pull(np.arange(self.rows)))

    def extra_repr(self) -> str:
        return f"{self.rows}, {self.dim}, table={self.table.name!r}"

    def __deepcopy__(self, memo: Any) -> "Embedding":
        """Copies share the table: the rows exist once."""
        return Embedding(self.rows, self.dim, self.table, scale=self.scale)
