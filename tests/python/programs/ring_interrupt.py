# SPDX-License-Identifier: MIT
"""A member of a ring of two. The one with operand "interrupted" receives Ctrl-C while it
waits for the other in op 4, which is late, and then goes on alone for three ops."""

import os
import signal
import sys
import threading
import time

import numpy as np

import gradwire

interrupted, gate = sys.argv[1] == "interrupted", sys.argv[2]
state = np.zeros(2)


def apply(state, result):
    state[0] += 1
    state[1] = len(result.contributors)


def stop():
    os.kill(os.getpid(), signal.SIGINT)


try:
    with gradwire.Ring(state, apply) as ring:
        while state[0] < 4:
            ring.begin()
            ring.allreduce(np.ones(10))
        if interrupted:
            timer = threading.Timer(0.3, stop)
            timer.start()
            begin = time.monotonic()
        while not interrupted and not os.path.exists(gate):
            time.sleep(0.01)
        for _ in range(3):
            ring.begin()
            ring.allreduce(np.ones(10))
    print(f"alone {state[1]:.0f}", flush=True)
except KeyboardInterrupt:
    assert interrupted and time.monotonic() - begin < 1.3
    open(gate, "w").close()
    print("interrupted", flush=True)
    assert not ring._handle  # left as by a death
