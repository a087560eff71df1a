# SPDX-License-Identifier: MIT
"""What programs may do that the library's own do not: fork, threads, objects that the
garbage collector takes, calls in progress at the end."""

import pytest
from conftest import ranks

WAYS = ("fork threads collected dropped pending_at_exit closed empty_arrays differing "
        "wrong_plan twice handlers waits").split()


@pytest.mark.parametrize("way", WAYS)
def test_two_ranks(way):
    assert ranks(2, "stranger", way) == "ok\nok\n"


@pytest.mark.parametrize("way", ["fork", "threads", "collected", "pending_at_exit", "closed",
                                 "empty_arrays", "differing", "handlers"])
def test_over_tcp(way):
    assert ranks(2, "stranger", way, wire="tcp") == "ok\nok\n"


def test_ranks_can_be_threads_of_one_process():
    assert ranks(1, "stranger", "ranks_as_threads") == "ok\n"
