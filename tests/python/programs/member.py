# SPDX-License-Identifier: MIT
"""A member of an elastic ring of three, one of which is killed: adds 1 to its own element
in each op, until a joiner has made it three again for 20 ops. It prints its node when it
has joined, and the sums when done. In op 3 it waits until the file of operand 1 exists, so
that a test can act before it."""

import os
import sys
import time

import numpy as np

import gradwire

gate = sys.argv[1]
# per node: contributions; their sum; ops; ops of two; ops of three after those
state = np.zeros(68, "i8")


def apply(state, result):
    state[:64] += result.data
    state[64] += len(result.contributors)
    state[65] += 1
    state[66] += len(result.contributors) == 2
    state[67] += len(result.contributors) == 3 and state[66] > 0
    assert int(result.data.sum()) == len(result.contributors) and set(
        np.flatnonzero(result.data)) == set(result.contributors)


with gradwire.Ring(state, apply) as ring:
    print("joined", ring.node, flush=True)
    while state[67] < 20:
        turn = ring.begin()
        assert turn.members[turn.place] == ring.node
        mine = np.zeros(64, "i8")
        mine[ring.node] = 1
        time.sleep(0.002)  # as if it computed
        while state[65] == 3 and not os.path.exists(gate):
            time.sleep(0.01)
        result = ring.allreduce(mine)
        assert ring.node in result.contributors
    ring.check()
    status = ring.status()
    assert status.lost == 0 and status.doubled == 0
    assert state[:64].sum() == state[64]
print("done", state[64], 3 * state[65] - state[66], flush=True)
