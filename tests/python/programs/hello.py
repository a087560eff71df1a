# SPDX-License-Identifier: MIT
"""A rank: prints the sum of all ranks. Operands: rank, size, rendezvous."""

import sys

import numpy as np

import gradwire

if len(sys.argv) > 1:
    gradwire.init(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
else:
    gradwire.init()
total = gradwire.allreduce(np.array([gradwire.rank()]))
print(f"rank {gradwire.rank()} of {gradwire.size()}: {total[0]}\n", end="")
