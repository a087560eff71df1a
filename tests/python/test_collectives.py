# SPDX-License-Identifier: MIT
"""Every collective, type and number of ranks against NumPy, over every wire of one host."""

import pytest
from conftest import ranks


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_collectives_are_those_of_numpy(count):
    out = ranks(count, "collectives")
    assert sorted(out.split("\n"))[1:] == [f"rank {r} ok" for r in range(count)]


@pytest.mark.parametrize("wire", ["ipc", "tcp"])
def test_over_sockets_too(wire):
    assert ranks(3, "collectives", 3000, wire=wire).count(" ok") == 3
