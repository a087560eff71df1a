# SPDX-License-Identifier: MIT
"""A rank that waits while another one fails in the way that is named, and prints the
error that it sees. Rank 1 is the one that fails."""

import json
import os
import signal
import sys
import threading
import time

import numpy as np

import gradwire

way = sys.argv[1]
comm = gradwire.init(timeout=1 if way == "late" else 30)
data = np.zeros(100000)


def interrupt_soon():
    time.sleep(0.3)  # the call waits by then; if not, the interrupt comes before it
    os.kill(os.getpid(), signal.SIGINT)


def fail():
    if way == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if way == "closes":
        comm.close()
        sys.exit()
    if way == "mismatch":
        comm.broadcast(data)
    if way == "late":
        time.sleep(6)
    if way.startswith("interrupt"):
        threading.Thread(target=interrupt_soon).start()
        if way == "interrupt":
            comm.allreduce(data)
        if way == "interrupt-request":
            comm.allreduce(data, wait=False).wait()
        if way == "interrupt-recv":
            comm.recv(data, 0)


for _ in range(20):
    comm.allreduce(data)
begin = time.monotonic()
try:
    comm.barrier()  # which a rank that dies after it may not complete for the others
    begin = time.monotonic()
    if comm.rank == 1:
        fail()
    elif comm.rank == 0 and way.startswith("interrupt"):
        time.sleep(1.5)  # rank 1 is interrupted while it waits for this rank
    comm.allreduce(data)
    seen = {"code": None}
except gradwire.Error as error:
    seen = {"code": error.code, "rank": error.rank, "peer": error.peer, "op": error.op,
            "call": error.call, "text": str(error)}
except KeyboardInterrupt:
    seen = {"code": "KeyboardInterrupt"}
seen.update(me=comm.rank, seconds=time.monotonic() - begin)
print(json.dumps(seen) + "\n", end="", flush=True)
