# SPDX-License-Identifier: MIT
"""PyTorch on gradwire: a backend of torch.distributed, elastic training (Elastic), and
embeddings on parameter servers (Embedding).

    import gradwire.torch
    torch.distributed.init_process_group("gradwire")

or gradwire.torch.init_process_group(), which finds the ranks of `collrun exec`, too.

Collectives, point-to-point messages, subgroups, DistributedDataParallel and the
monitored barrier work as with Gloo, on CPU tensors. Ranks on one host use shared
memory. $GW_WIRE forces a wire; between hosts $GW_INTERFACE is the address of this
host, and $GRADWIRE_KEY a key file (gradwire-coll(3)).

A rank that is lost, late, or calls something else is a RuntimeError on all ranks,
which names the rank, the operation and the number of the call.

DistributedDataParallel of this module is that of torch with gradient buckets in shared
memory. gradwire.torch.hooks has communication hooks that compress gradients, and Reproducible
makes gradients whose bits do not depend on the number of ranks.
"""

import torch
from torch import distributed
from torch.distributed import distributed_c10d

from ._extension import extension
from .elastic import Elastic  # noqa: F401
from .embedding import Embedding  # noqa: F401
from .launch import init_process_group  # noqa: F401
from .parallel import DistributedDataParallel, shared_memory  # noqa: F401
from .reproducible import Reproducible  # noqa: F401


def _create(store, rank, size, timeout):
    """The extension is loaded here: Elastic and Embedding need none."""
    return extension().create(store, rank, size, timeout)


_other_barrier = distributed.monitored_barrier


def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
    """torch.distributed.monitored_barrier, which asks for Gloo by its name."""
    group = group or distributed.group.WORLD
    if distributed_c10d._rank_not_in_group(group):
        return
    if distributed.get_backend(group) != "gradwire":
        _other_barrier(group, timeout, wait_all_ranks)
        return
    timeout = timeout or distributed_c10d.default_pg_timeout
    group.monitored_barrier(timeout, wait_all_ranks=wait_all_ranks)


def bytes_sent(group=None):
    """The bytes that this rank has sent in collectives of the group, after those that
    are in progress. Messages do not count. It is not a collective call."""
    group = group or distributed.group.WORLD
    if _HAS_DEVICES:
        group = group._get_backend(torch.device("cpu"))
    return extension().bytes_sent(group)


# From 2.0 on a process group has one backend per kind of device.
_HAS_DEVICES = int(torch.__version__.split(".")[0]) >= 2
_devices = {"devices": ["cpu"]} if _HAS_DEVICES else {}
distributed.Backend.register_backend("gradwire", _create, **_devices)
distributed_c10d.monitored_barrier = distributed.monitored_barrier = monitored_barrier
