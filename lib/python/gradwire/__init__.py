# SPDX-License-Identifier: MIT
"""gradwire: the communication of distributed training, on NumPy arrays.

    import gradwire, numpy as np
    gradwire.init()                       # under collrun exec, mpirun, srun, torchrun
    total = gradwire.allreduce(np.arange(4.0))
    print(gradwire.rank(), total)

    $ collrun exec -n 4 python3 prog.py

Collectives are methods of Communicator, and functions of this module on the default
communicator that init makes. Plan, Topology, Events, Ring and ParameterServer give the
rest of the library. Errors are gradwire.Error. `empty` makes arrays in shared memory.
"""

import functools as _functools
import inspect as _inspect
from typing import Any, Optional

from ._arrays import empty
from ._errors import Error
from .communicator import Communicator, Counters, Request
from .events import Event, Events, read_events
from .plan import Plan, Price, Verdict, algorithms
from .ring import Ring, RingResult, Shards, Turn
from .servers import Cluster, ParameterServer, Table, Work
from .topology import Hop, Simulation, Topology

__version__ = "0.1.0"
_default: Optional[Communicator] = None


def init(rank: Optional[int] = None, size: Optional[int] = None,
         rendezvous: Optional[str] = None, *, wire: Optional[str] = None,
         timeout: Optional[float] = None, connect_timeout: Optional[float] = None,
         interface: Optional[str] = None, key_file: Any = None, insecure: bool = False,
         events: Any = None) -> Communicator:
    """Connects this process with the other ranks, and returns the default communicator.

    Without rank and size, the launcher's environment has them: collrun exec, mpirun of
    Open MPI or MPICH, srun, torchrun, Kubernetes, or GW_RANK, GW_SIZE and GW_RENDEZVOUS;
    without a launcher there is one rank.

    Args:
        rank, size: of this process, and the number of ranks.
        rendezvous: where rank 0 listens and the others connect, the same on all ranks:
            "ipc://@name" or "tcp://host:port".
        wire: "shm" (one host), "ipc", "tcp", "verbs"; None: shm, and tcp between hosts.
        timeout: seconds without progress after which a call fails; None: 30.
        connect_timeout: seconds to wait for all ranks; None: 10.
        interface: tcp: the address of this host to bind.
        key_file: of `psnode key`, for connections between hosts; None: $GRADWIRE_KEY.
        insecure: allows connections between hosts without a key.
        events: an Events that keeps what this rank does.
    Raises:
        Error: GW_EUNREACH: ranks are missing, and the sentence names them; GW_EINVAL: the
            arguments, or the variables of the launcher, are wrong.
    """
    global _default
    made = Communicator(rank, size, rendezvous, wire=wire, timeout=timeout,
                        connect_timeout=connect_timeout, interface=interface,
                        key_file=key_file, insecure=insecure, events=events)
    shutdown()
    _default = made
    return made


def shutdown() -> None:
    """Closes the default communicator, if there is one."""
    global _default
    if _default:
        _default.close()
    _default = None


def comm() -> Communicator:
    """Returns the default communicator. RuntimeError: init was not called."""
    if _default is None:
        raise RuntimeError("call gradwire.init() first")
    return _default


def rank() -> int:
    """Returns the rank of this process, from 0."""
    return comm().rank


def size() -> int:
    """Returns the number of ranks."""
    return comm().size


def _on_default(name: str) -> Any:
    method = getattr(Communicator, name)

    @_functools.wraps(method)
    def function(*arguments, **options):
        return getattr(comm(), name)(*arguments, **options)
    parameters = list(_inspect.signature(method).parameters.values())[1:]
    function.__signature__ = _inspect.signature(method).replace(parameters=parameters)
    function.__qualname__ = name
    function.__module__ = __name__
    function.__doc__ = _inspect.cleandoc(method.__doc__) + "\n\nOn the default communicator.\n"
    return function


broadcast, reduce, allreduce, gather, scatter, allgather = map(
    _on_default, ("broadcast", "reduce", "allreduce", "gather", "scatter", "allgather"))
reduce_scatter, alltoall, barrier, send, recv, split = map(
    _on_default, ("reduce_scatter", "alltoall", "barrier", "send", "recv", "split"))
scan, exscan = map(_on_default, ("scan", "exscan"))
gatherv, scatterv, allgatherv, alltoallv = map(
    _on_default, ("gatherv", "scatterv", "allgatherv", "alltoallv"))
