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

gradwire.torch.hooks has communication hooks that compress gradients, and Reproducible
makes gradients whose bits do not depend on the number of ranks.
"""

import atexit
import os
from functools import lru_cache
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location

import torch  # the libraries that the extension needs
from torch import distributed
from torch.distributed import distributed_c10d

from .. import _library  # noqa: F401  libgradwire.so, before the extension
from .elastic import Elastic  # noqa: F401
from .embedding import Embedding  # noqa: F401
from .launch import init_process_group  # noqa: F401
from .reproducible import Reproducible  # noqa: F401


@lru_cache()
def _load_extension():
    """$GRADWIRE_TORCH, or the file in the same folder, or the one that `make torch` has
    built with $GRADWIRE_LIBRARY."""
    path = os.path.join(os.path.dirname(__file__), "_torch.so")
    built = os.path.join(os.path.dirname(os.environ.get("GRADWIRE_LIBRARY", "")), "torch/_torch.so")
    if not os.path.exists(path) and os.path.exists(built):
        path = built
    path = os.environ.get("GRADWIRE_TORCH", path)
    if not os.path.exists(path):
        raise ImportError(
            f"gradwire.torch: no {path}; build it for torch {torch.__version__} "
            "with `make torch`"
        )
    spec = spec_from_file_location("_torch", path, loader=ExtensionFileLoader("_torch", path))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    atexit.register(module.close_all)
    return module


def _create(store, rank, size, timeout):
    """The extension is loaded here: Elastic and Embedding need none."""
    return _load_extension().create(store, rank, size, timeout)


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
    return _load_extension().bytes_sent(group)


# From 2.0 on a process group has one backend per kind of device.
_HAS_DEVICES = int(torch.__version__.split(".")[0]) >= 2
_devices = {"devices": ["cpu"]} if _HAS_DEVICES else {}
distributed.Backend.register_backend("gradwire", _create, **_devices)
distributed_c10d.monitored_barrier = distributed.monitored_barrier = monitored_barrier
