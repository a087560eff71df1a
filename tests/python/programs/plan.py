# SPDX-License-Identifier: MIT
"""A rank of three: runs a plan of its own, and algorithms by name."""

import numpy as np

import gradwire

comm = gradwire.init()
plan = gradwire.Plan.from_text("""
    # rank 0 adds up, then tells the others
    allreduce ranks=3 chunks=1
    step 1>0 c0 +
    step 2>0 c0 +
    step 0>1 c0 =  0>2 c0 =
""")
assert plan.verify()
data = np.arange(1000.0) + comm.rank
expected = 3 * np.arange(1000.0) + 3
assert (plan.run(comm, data) == expected).all()
request = plan.run(comm, data, wait=False)
del plan
assert (request.wait() == expected).all()
for algo in gradwire.algorithms("allreduce", 3):
    assert (comm.allreduce(data, algo=algo) == expected).all(), algo
try:
    gradwire.Plan.make("allreduce", "ring", 4).run(comm, data)
except ValueError as error:
    assert str(error) == "comm: it has 3 ranks, the plan 4"
    print("ok\n", end="")
