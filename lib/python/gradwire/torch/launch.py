# SPDX-License-Identifier: MIT
"""torch.distributed for the ranks of any launcher that gradwire.init knows."""

import os
from datetime import timedelta
from typing import Any, Optional

import numpy as np
from torch import distributed

from ..communicator import Communicator


def init_process_group(backend: str = "gradwire", *, timeout: Optional[float] = None,
                       **options: Any) -> None:
    """torch.distributed.init_process_group without MASTER_ADDR and MASTER_PORT: the ranks
    find each other as those of gradwire.init do, so `collrun exec -n 4`, mpirun, srun and
    torchrun start the same program. A process without a launcher is a group of one rank.

    Between hosts $GW_INTERFACE is the address of each host.

    Args:
        backend: any that torch.distributed has, such as "gloo".
        timeout: seconds after which a call fails; None: 30 minutes, the default of torch.
        options: of torch.distributed.init_process_group, such as group_name.
    Raises:
        Error: as gradwire.init.
    """
    if timeout is not None:
        options["timeout"] = timedelta(seconds=timeout)
    address = os.environ.get("GW_INTERFACE", "127.0.0.1")
    with Communicator() as comm:
        rank, size = comm.rank, comm.size
        place = np.zeros(256, np.uint8)  # the address of rank 0 and the port of its store
        if rank == 0:
            store = distributed.TCPStore(address, 0, size, True, wait_for_workers=False)
            text = f"{address} {store.port}".encode()
            place[:len(text)] = list(text)
        comm.broadcast(place)
        if rank > 0:
            host, port = bytes(place).rstrip(b"\0").decode().split()
            store = distributed.TCPStore(host, int(port), size, False, wait_for_workers=False)
    distributed.init_process_group(backend, store=store, rank=rank, world_size=size, **options)
