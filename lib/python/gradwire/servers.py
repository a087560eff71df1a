# SPDX-License-Identifier: MIT
"""The parameter server: its client, and a cluster within this process."""

import ctypes
import math
import re
import weakref
from ctypes import byref
from typing import Any, Iterator, NamedTuple, Optional

import numpy as np

from ._checks import instance, milliseconds, optional, text, whole, wire as wire_name, word
from ._errors import call
from ._library import C, structs
from ._lifetime import Handle
from ._waiting import interruptible
from .events import address_of

_UPDATERS = "add assign sgd momentum adagrad adam ftrl callback".split()
_ANY, _U64_MAX = 65535, 2**64 - 1


class Work(NamedTuple):
    """A work item: a part of a batch."""

    epoch: int
    batch: int
    part: int
    parts: int
    clock: int
    staleness: int


class Table:
    """A table of rows of `width` floats under 64-bit keys. ParameterServer.table makes
    it. Attributes: name, width."""

    def __init__(self, server: "ParameterServer", name: str, number: int, width: int):
        self._server, self._number = server, number
        self.name, self.width = name, width

    def pull(self, keys: Any, out: Any = None) -> np.ndarray:
        """Reads rows. A key that was never pushed has its initial value.

        Args:
            keys: n integers.
            out:  (n, width), float32.
        Returns:
            out.
        """
        keys = _keys(keys)
        out = self._out(keys, out)
        self._server._call(C.gw_ps_pull, self._number, _at(keys), keys.size, _at(out), None,
                           keep=(keys, out))
        return out

    def push(self, keys: Any, values: Any) -> None:
        """Gives rows to the table's updater, exactly once; returns when all replicas have
        them.

        Args:
            keys:   n distinct integers.
            values: (n, width), float32.
        Raises:
            Error: GW_ENUMERIC: a value is not finite; nothing was applied.
        """
        keys = _keys(keys)
        values = self._values("values", keys, values)
        self._server._call(C.gw_ps_push, self._number, _at(keys), keys.size, _at(values), None,
                           keep=(keys, values))

    def push_pull(self, keys: Any, values: Any, out: Any = None) -> np.ndarray:
        """Pushes, then pulls the same keys, in one request."""
        keys = _keys(keys)
        values, out = self._values("values", keys, values), self._out(keys, out)
        self._server._call(C.gw_ps_push_pull, self._number, _at(keys), keys.size, _at(values),
                           _at(out), None, keep=(keys, values, out))
        return out

    def _out(self, keys, out):
        if out is None:
            return np.empty((keys.size, self.width), np.float32)
        self._values("out", keys, out)
        if not out.flags.writeable:
            raise ValueError("out: the array is read-only")
        return out

    def _values(self, name, keys, values):
        if not isinstance(values, np.ndarray) or values.dtype != np.float32:
            raise TypeError(f"{name}: it must be a numpy.ndarray of float32")
        if not values.flags.c_contiguous:
            raise ValueError(f"{name}: the array is not C-contiguous")
        if values.size != keys.size * self.width:
            raise ValueError(f"{name}: its shape is {values.shape} instead of "
                             f"({keys.size}, {self.width})")
        return values


class ParameterServer(Handle):
    """A client of parameter servers.

        with gradwire.ParameterServer() as server:
            table = server.table("weights", width=16, updater="sgd", rate=0.1)
            server.plan(epochs=2, batches=100, mode="ssp:2")
            for work in server.work():
                rows = table.pull(keys)
                table.push(keys, gradients)

    The environment names the cluster: GW_CONTROLLERS=tcp://HOST:PORT,... (of
    `psnode controller`), GW_CLUSTER, GRADWIRE_KEY; gradwire-cluster(7). Or `cluster` is a
    Cluster of this process. Calls of several threads run one
    after another.

    Args:
        connect_timeout, timeout: seconds; None: 10 s, and no limit of a request.
    Raises:
        Error: GW_ETIMEOUT: servers or controllers do not answer; GW_ECLOSED: this worker
            was declared dead; GW_EINVAL: GW_CONTROLLERS is not set.
    """

    def __init__(self, cluster: Optional["Cluster"] = None, *, wire: Optional[str] = None,
                 connect_timeout: Optional[float] = None, timeout: Optional[float] = None,
                 key_file: Any = None, insecure: bool = False, half: bool = False,
                 events: Any = None):
        config = structs["gw_ps_config"]()
        if cluster is not None:
            C.gw_ps_cluster_client(instance("cluster", cluster, Cluster)._address(), byref(config))
        else:
            config.wire, config.key_file = wire_name(wire), optional("key_file", key_file)
            config.insecure, config.aggregator_node = bool(insecure), _ANY
        config.connect_ms = milliseconds("connect_timeout", connect_timeout)
        config.timeout_ms = milliseconds("timeout", timeout)
        config.half, config.events = bool(half), address_of(events)
        self._keep = cluster, events, config
        connect = C.gw_ps_connect if cluster else C.gw_ps_from_env

        def run():
            handle = ctypes.c_void_p()
            call(connect, byref(config), byref(handle))
            return handle, cluster, events  # which must live until here
        self._adopt(interruptible(run, discard=lambda made: self._destroy(made[0]))[0])
        self.node: int = C.gw_ps_node(self._handle)
        if cluster is not None:
            cluster._clients.add(self)

    _what = "client"

    @staticmethod
    def _destroy(handle):
        interruptible(lambda: C.gw_ps_close(byref(handle)),
                      stop=lambda: C.gw_ps_interrupt(handle))

    def table(self, name: str, width: int = 1, updater: str = "add", *, rows: int = 0,
              group: int = 0, rate: float = 0, momentum: float = 0, beta1: float = 0.9,
              beta2: float = 0.999, epsilon: float = 1e-8, beta: float = 1, l1: float = 0,
              l2: float = 0, init_range: float = 0, seed: int = 0) -> Table:
        """Finds the table of that name, or creates it.

        Args:
            width: floats per row.
            updater: "add", "assign", "sgd", "momentum", "adagrad", "adam" or "ftrl": what
                a pushed row does to a row (gradwire/control.h), with rate to l2.
            rows: of a dense table, with keys from 0; 0: sparse, any keys.
            group: the clock of the table, 0 to 3.
            init_range, seed: new rows are uniform in [-init_range, init_range].
        Raises:
            Error: GW_EMISMATCH: it exists with another width or updater; GW_EINVAL: a
                number is out of bounds; GW_ENOMEM: too many tables.
        """
        if not re.fullmatch("[!-~]{1,23}", name):
            raise ValueError(f"name: {name!r} is not 1 to 23 printable characters without blanks")
        config = structs["gw_ps_table_config"](
            name=name.encode(), width=whole("width", width, 1),
            updater=word("updater", updater, _UPDATERS[:-1]), group=whole("group", group),
            dense=whole("rows", rows), rate=rate, momentum=momentum, beta1=beta1, beta2=beta2,
            epsilon=epsilon, beta=beta, l1=l1, l2=l2, init_range=init_range, init_seed=whole("seed", seed, high=_U64_MAX))
        number = ctypes.c_uint()
        self._call(C.gw_ps_table, byref(config), byref(number))
        return Table(self, name, number.value, width)

    def plan(self, epochs: int = 1, batches: int = 0, parts: int = 0, workers: int = 1, *,
             mode: str = "bsp", until: Optional[float] = None, group: int = 0) -> None:
        """Sets the work of a group; the first call of all workers counts.

        Args:
            epochs, batches, parts: so often so many batches, each in so many parts; 0
                epochs: without end; 0 batches: a round has a part per worker.
            workers: the first work item is granted when so many have requested one.
            mode: "bsp", "ssp:S", "asp", "kofn:K", each with "+drop" after it or not.
            until: ends after the first epoch whose mean (report) is below.
        """
        parsed = structs["gw_ps_mode"]()
        call(C.gw_ps_mode_parse, text("mode", mode), byref(parsed))
        plan = structs["gw_ps_plan"](
            whole("epochs", epochs, high=_U64_MAX), whole("batches", batches, high=_U64_MAX),
            whole("parts", parts), whole("workers", workers), until is not None, until or 0.0)
        self._call(C.gw_ps_plan, whole("group", group), byref(parsed), byref(plan))

    def work(self, group: int = 0) -> Iterator[Work]:
        """Yields the work items that this worker is granted, until the plan has ended.
        Taking the next one reports the last as done: its pushes count."""
        while True:
            raw = structs["gw_ps_work"]()
            self._call(C.gw_ps_next, whole("group", group), byref(raw))
            if raw.done:
                return
            yield Work(*(getattr(raw, name) for name in Work._fields))

    def report(self, total: float, weight: float = 1, group: int = 0) -> None:
        """Reports the result of the current work item, for plan(until=): a sum of losses
        and the number of samples."""
        if not math.isfinite(total):
            raise ValueError(f"total: {total} is not a finite number")
        self._call(C.gw_ps_report, whole("group", group), total, weight)

    def barrier(self, number: int, count: int) -> None:
        """Waits until `count` workers have called it with this number, used once."""
        self._call(C.gw_ps_barrier, whole("number", number, high=_U64_MAX),
                   whole("count", count))

    def snapshot(self, directory: Any) -> None:
        """Writes a consistent snapshot of all servers, each on its host."""
        self._call(C.gw_ps_snapshot, text("directory", directory))

    def _stop(self, handle):
        C.gw_ps_interrupt(handle)

    def close(self) -> None:
        """Leaves; an unfinished work item returns to the pool. Ends a call of another
        thread that goes on for a second."""
        super().close()

    def _call(self, function, *arguments, keep=None):
        with self._lock:
            handle = self._address()

            def run():
                call(function, handle, *arguments)
                return keep  # the arrays live until here
            interruptible(run, stop=lambda: self._stop(handle),
                          abandon=lambda: self._abandon("was interrupted in a call"))


class Cluster(Handle):
    """A controller and servers in threads of this process, to try things out. Clients:
    ParameterServer(cluster).

    Args:
        replicas: of each slot.
    """

    def __init__(self, servers: int = 1, replicas: int = 1, *, slots: int = 0,
                 wire: str = "shm", seed: int = 1):
        self._config = structs["gw_ps_cluster_config"](  # the cluster reads its strings
            servers=whole("servers", servers, 1), replicas=whole("replicas", replicas, 1),
            slots=whole("slots", slots), wire=wire_name(wire),
            seed=whole("seed", seed, high=_U64_MAX))
        self._clients: "weakref.WeakSet[ParameterServer]" = weakref.WeakSet()
        self._servers = servers
        handle = ctypes.c_void_p()
        call(C.gw_ps_cluster_start, byref(self._config), byref(handle))
        self._adopt(handle)

    _what = "cluster"

    @staticmethod
    def _destroy(handle):
        C.gw_ps_cluster_stop(byref(handle))

    def add(self) -> int:
        """Starts one more server; returns its number."""
        number = ctypes.c_uint()
        with self._lock:
            call(C.gw_ps_cluster_add, self._address(), byref(number))
        self._servers = number.value + 1
        return number.value

    def kill(self, number: int) -> None:
        """Ends a server without notice."""
        number = whole("number", number, high=self._servers - 1)
        with self._lock:
            C.gw_ps_cluster_kill(self._address(), number)

    def close(self) -> None:
        """Closes the clients, and stops the cluster."""
        super().close()

    def _close(self, timeout=-1):
        for client in list(self.__dict__.get("_clients", ())):
            client._close(timeout)
        super()._close(timeout)


def _keys(keys) -> np.ndarray:
    given = np.asarray(keys)
    if given.dtype.kind not in "iu" and given.size:
        if isinstance(keys, np.ndarray):
            raise TypeError(f"keys: {given.dtype} is not an integer type")
        given = np.array([whole("keys", key, high=_U64_MAX) for key in keys], np.uint64)
    if given.dtype.kind == "i" and given.size and given.min() < 0:
        raise ValueError(f"keys: {given.min()} is not in 0 to {_U64_MAX}")
    return np.ascontiguousarray(given, dtype=np.uint64).reshape(-1)


def _at(array: np.ndarray) -> int:
    return array.ctypes.data
