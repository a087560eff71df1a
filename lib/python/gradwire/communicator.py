# SPDX-License-Identifier: MIT
"""Communicators: groups of ranks, their collectives and messages."""

import ctypes
from ctypes import byref
from typing import Any, NamedTuple, Optional, Sequence, Union

from ._arrays import result, view
from ._calls import (COLLECTIVES, Blocks, expect, expect_at_least, place_algo, place_buffers,
                     reduction)
from ._checks import U32_MAX, instance, milliseconds, optional, text, whole, wire as wire_name
from ._errors import EINTR, PENDING, Error, call, sentence_at
from ._help import describe
from ._library import C, structs
from ._lifetime import Handle
from ._waiting import interruptible
from .events import address_of
from .plan import Plan
from .request import Interruption, Request, slice_ns, sweep

Algo = Union[str, Plan, None]
_I32_MAX = 2**31 - 1


class Counters(NamedTuple):
    """The traffic between this rank and one peer."""

    messages_sent: int
    messages_received: int
    bytes_sent: int
    bytes_received: int


class Communicator(Handle):
    """A group of ranks.

    All ranks start the same calls in the same order. A lost peer, a timeout or a
    call that differs is an Error on all ranks within a second, which names them;
    the communicator then refuses further calls. Several threads may use it, if the
    calls of all of them have one order on all ranks; a thread that waits lets the
    others in.

    Arguments of calls are numpy.ndarray, objects with the buffer protocol, or
    with __dlpack__ on the CPU; they are not copied. They must be C-contiguous
    and of the types i8 to i64, u8 to u64, f16, bf16, f32, f64 or bool (as u8).
    bf16 has no type in NumPy: pass arrays of uint16 and dtype="bf16".

    Errors of all calls: TypeError and ValueError name the argument and have no
    effect on other ranks. Error: GW_ELOST, GW_ECLOSED (a peer has ended),
    GW_ETIMEOUT, GW_EMISMATCH (ranks called different things), GW_EINTR (a rank
    was interrupted; there it is KeyboardInterrupt).
    """

    def __init__(self, rank: Optional[int] = None, size: Optional[int] = None,
                 rendezvous: Optional[str] = None, *, wire: Optional[str] = None,
                 timeout: Optional[float] = None, connect_timeout: Optional[float] = None,
                 interface: Optional[str] = None, key_file: Any = None,
                 insecure: bool = False, events: Any = None):
        """Connects this process with the other ranks; see gradwire.init."""
        if (rank is None) != (size is None):
            raise TypeError("rank, size: give both or none")
        self._events = events
        config = structs["gw_comm_config"](
            rank=whole("rank", rank or 0), size=whole("size", size or 0),
            rendezvous=optional("rendezvous", rendezvous), wire=wire_name(wire),
            timeout_ms=milliseconds("timeout", timeout),
            connect_ms=milliseconds("connect_timeout", connect_timeout),
            interface=optional("interface", interface), key_file=optional("key_file", key_file),
            insecure=bool(insecure), events=address_of(events))
        function = C.gw_comm_from_env if rank is None else C.gw_comm_create

        def create():
            handle = ctypes.c_void_p()
            call(function, byref(config), byref(handle))
            return handle, events
        self._adopt(interruptible(create, discard=lambda made: _destroy(made[0]))[0])

    _what = "communicator"

    @staticmethod
    def _destroy(handle):
        _destroy(handle)

    def _adopt(self, handle):
        self._dropped: list = []
        self.rank: int = C.gw_comm_rank(handle)
        self.size: int = C.gw_comm_size(handle)
        self.wire: str = C.gw_comm_wire(handle).decode()
        super()._adopt(handle)

    # ---- collectives ----

    def broadcast(self, array: Any, root: int = 0, *, dtype: Any = None, algo: Algo = None,
                  wait: bool = True) -> Any:
        """Copies the root's array into that of every other rank; returns it.

        Args:
            array: the same number of elements on all ranks, of any shape.
        """
        root = self._rank("root", root)
        memory = view(array, "array", dtype, writable=self.rank != root)
        return self._collective("broadcast", None, memory, memory.count, array,
                                root=root, algo=algo, wait=wait)

    def reduce(self, array: Any, op: str = "sum", root: int = 0, out: Any = None, *,
               dtype: Any = None, algo: Algo = None, wait: bool = True) -> Any:
        """Reduces the arrays of all ranks, element by element, to the root.

        Args:
            array: the same shape on all ranks.
            out:   that shape; only used at the root.
        Returns:
            out at the root, None elsewhere.
        """
        root = self._rank("root", root)
        memory = view(array, "array", dtype)
        if self.rank != root:
            return self._collective("reduce", memory, None, memory.count, None, op=op,
                                    root=root, algo=algo, wait=wait)
        out, target = result(out, memory, memory.shape, dtype)
        expect("out", target, memory.count)
        return self._collective("reduce", memory, target, memory.count, out, op=op,
                                root=root, algo=algo, wait=wait)

    def allreduce(self, array: Any, op: str = "sum", out: Any = None, *, dtype: Any = None,
                  algo: Algo = None, wait: bool = True) -> Any:
        """Reduces the arrays of all ranks, element by element, to all ranks.

        Args:
            array: the same shape on all ranks.
            out:   that shape; `array` itself means in place.
        Returns:
            out.
        """
        memory = view(array, "array", dtype)
        out, target = result(out, memory, memory.shape, dtype)
        expect("out", target, memory.count)
        return self._collective("allreduce", memory, target, memory.count, out, op=op,
                                algo=algo, wait=wait)

    def scan(self, array: Any, op: str = "sum", out: Any = None, *, dtype: Any = None,
             algo: Algo = None, wait: bool = True) -> Any:
        """Reduces the arrays of ranks 0 to r, element by element, to each rank r.

        Args:
            array: the same shape on all ranks.
            out:   that shape; `array` itself means in place.
        Returns:
            out.
        """
        memory = view(array, "array", dtype)
        out, target = result(out, memory, memory.shape, dtype)
        expect("out", target, memory.count)
        return self._collective("scan", memory, target, memory.count, out, op=op, algo=algo,
                                wait=wait)

    def exscan(self, array: Any, op: str = "sum", out: Any = None, *, dtype: Any = None,
               algo: Algo = None, wait: bool = True) -> Any:
        """Reduces the arrays of ranks 0 to r-1, element by element, to each rank r.

        Args:
            array: the same shape on all ranks.
            out:   that shape; `array` itself means in place; not used on rank 0.
        Returns:
            out, None on rank 0.
        """
        memory = view(array, "array", dtype)
        if self.rank == 0:
            return self._collective("exscan", memory, None, memory.count, None, op=op,
                                    algo=algo, wait=wait)
        out, target = result(out, memory, memory.shape, dtype)
        expect("out", target, memory.count)
        return self._collective("exscan", memory, target, memory.count, out, op=op, algo=algo,
                                wait=wait)

    def gather(self, array: Any, root: int = 0, out: Any = None, *, dtype: Any = None,
               algo: Algo = None, wait: bool = True) -> Any:
        """Collects the array of each rank at the root.

        Args:
            array: the same shape on all ranks.
            out:   (size, *shape); only used at the root.
        Returns:
            out at the root, None elsewhere.
        """
        root = self._rank("root", root)
        memory = view(array, "array", dtype)
        target = None
        if self.rank == root:
            out, target = result(out, memory, (self.size, *memory.shape), dtype)
            expect("out", target, self.size * memory.count)
        return self._collective("gather", memory, target, memory.count,
                                out if target else None, root=root, algo=algo, wait=wait)

    def scatter(self, array: Any = None, root: int = 0, out: Any = None, *, dtype: Any = None,
                algo: Algo = None, wait: bool = True) -> Any:
        """Sends row r of the root's array to rank r.

        Args:
            array: (size, *shape) at the root, ignored elsewhere.
            out:   shape; must be given on all ranks but the root.
        Returns:
            out.
        """
        root = self._rank("root", root)
        memory = None
        if self.rank == root:
            memory = self._rows(array, dtype)
            out, target = result(out, memory, memory.shape[1:], dtype)
            expect("out", target, memory.count // self.size)
        elif out is None:
            raise TypeError("out: only the root knows its shape; it must be given here")
        else:
            target = view(out, "out", dtype, writable=True)
        return self._collective("scatter", memory, target, target.count, out, root=root,
                                algo=algo, wait=wait)

    def allgather(self, array: Any, out: Any = None, *, dtype: Any = None, algo: Algo = None,
                  wait: bool = True) -> Any:
        """Collects the array of each rank at all ranks.

        Args:
            array: the same shape on all ranks.
            out:   (size, *shape).
        Returns:
            out.
        """
        memory = view(array, "array", dtype)
        out, target = result(out, memory, (self.size, *memory.shape), dtype)
        expect("out", target, self.size * memory.count)
        return self._collective("allgather", memory, target, memory.count, out, algo=algo,
                                wait=wait)

    def reduce_scatter(self, array: Any, op: str = "sum", out: Any = None, *, dtype: Any = None,
                       algo: Algo = None, wait: bool = True) -> Any:
        """Reduces the arrays of all ranks; row r of the result goes to rank r.

        Args:
            array: (size, *shape) on all ranks.
            out:   shape.
        Returns:
            out.
        """
        memory = self._rows(array, dtype)
        out, target = result(out, memory, memory.shape[1:], dtype)
        expect("out", target, memory.count // self.size)
        return self._collective("reduce_scatter", memory, target, target.count, out, op=op,
                                algo=algo, wait=wait)

    def alltoall(self, array: Any, out: Any = None, *, dtype: Any = None, algo: Algo = None,
                 wait: bool = True) -> Any:
        """Sends row r of each rank's array to rank r, which puts it into the row of
        the sender.

        Args:
            array: (size, *shape) on all ranks.
            out:   the same shape.
        Returns:
            out.
        """
        memory = self._rows(array, dtype)
        out, target = result(out, memory, memory.shape, dtype)
        expect("out", target, memory.count)
        return self._collective("alltoall", memory, target, memory.count // self.size, out,
                                algo=algo, wait=wait)

    def barrier(self, *, algo: Algo = None, wait: bool = True) -> Any:
        """Returns when all ranks have called it."""
        return self._collective("barrier", None, None, 0, None, algo=algo, wait=wait)

    # ---- blocks of different lengths ----

    def gatherv(self, array: Any, counts: Sequence[int], root: int = 0, out: Any = None, *,
                displs: Optional[Sequence[int]] = None, dtype: Any = None,
                wait: bool = True) -> Any:
        """As gather, with counts[r] elements from rank r.

        Args:
            array:  counts[rank] elements.
            counts: one number per rank, the same on all ranks.
            displs: where each block begins in out, in elements; None: one after
                    the other.
            out:    one-dimensional; only used at the root.
        Returns:
            out at the root, None elsewhere.
        """
        root = self._rank("root", root)
        memory = view(array, "array", dtype)
        blocks = self._blocks("counts", counts, "displs", displs)
        expect("array", memory, blocks.numbers[self.rank])
        target = None
        if self.rank == root:
            out, target = result(out, memory, (blocks.end,), dtype)
            expect_at_least("out", target, blocks.end)
        return self._collective("gather", memory, target, 0, out if target else None,
                                root=root, blocks=blocks, wait=wait)

    def scatterv(self, array: Any, counts: Sequence[int], root: int = 0, out: Any = None, *,
                 displs: Optional[Sequence[int]] = None, dtype: Any = None,
                 wait: bool = True) -> Any:
        """As scatter, with counts[r] elements to rank r.

        Args:
            array: at the root at least the elements of all blocks.
            counts, displs: as in gatherv; displs are places in array.
            out:   counts[rank] elements; must be given on all ranks but the root.
        Returns:
            out.
        """
        root = self._rank("root", root)
        blocks = self._blocks("counts", counts, "displs", displs)
        memory = None
        if self.rank == root:
            memory = view(array, "array", dtype)
            expect_at_least("array", memory, blocks.end)
            out, target = result(out, memory, (blocks.numbers[root],), dtype)
        elif out is None:
            raise TypeError("out: only the root knows its type; it must be given here")
        else:
            target = view(out, "out", dtype, writable=True)
        expect("out", target, blocks.numbers[self.rank])
        return self._collective("scatter", memory, target, 0, out, root=root, blocks=blocks,
                                wait=wait)

    def allgatherv(self, array: Any, counts: Sequence[int], out: Any = None, *,
                   displs: Optional[Sequence[int]] = None, dtype: Any = None,
                   wait: bool = True) -> Any:
        """As gatherv, to all ranks."""
        memory = view(array, "array", dtype)
        blocks = self._blocks("counts", counts, "displs", displs)
        expect("array", memory, blocks.numbers[self.rank])
        out, target = result(out, memory, (blocks.end,), dtype)
        expect_at_least("out", target, blocks.end)
        return self._collective("allgather", memory, target, 0, out, blocks=blocks, wait=wait)

    def alltoallv(self, array: Any, counts: Sequence[int], recv_counts: Sequence[int],
                  out: Any = None, *, displs: Optional[Sequence[int]] = None,
                  recv_displs: Optional[Sequence[int]] = None, dtype: Any = None,
                  wait: bool = True) -> Any:
        """As alltoall: counts[r] elements go to rank r, recv_counts[r] come from it.

        Args:
            array, counts, displs: the blocks that this rank sends.
            out, recv_counts, recv_displs: those that it receives.
        Returns:
            out.
        """
        memory = view(array, "array", dtype)
        blocks = self._blocks("counts", counts, "displs", displs)
        received = self._blocks("recv_counts", recv_counts, "recv_displs", recv_displs)
        expect_at_least("array", memory, blocks.end)
        out, target = result(out, memory, (received.end,), dtype)
        expect_at_least("out", target, received.end)
        return self._collective("alltoall", memory, target, 0, out, blocks=blocks,
                                received=received, wait=wait)

    # ---- messages ----

    def send(self, array: Any, dest: int, *, dtype: Any = None,
             wait: bool = True) -> Optional[Request]:
        """Sends an array to rank `dest`, whose next recv from this rank must have
        as many elements of the same type. Ordered with the collectives."""
        return self._message(C.gw_send_start, "send", view(array, "array", dtype), "dest",
                             dest, None, wait)

    def recv(self, out: Any, source: int, *, dtype: Any = None, wait: bool = True) -> Any:
        """Receives an array from rank `source` into `out`, and returns it."""
        return self._message(C.gw_recv_start, "recv", view(out, "out", dtype, writable=True),
                             "source", source, out, wait)

    # ---- the communicator ----

    def split(self, color: int, key: int = 0) -> Optional["Communicator"]:
        """Forms new communicators of the ranks with the same `color`, ordered by
        `key`, then by rank. All ranks must call it. Returns None to a rank with a
        negative color."""
        color = whole("color", color, -_I32_MAX, _I32_MAX)
        key = whole("key", key, -_I32_MAX, _I32_MAX)
        self.barrier()  # the wait for late ranks, which Ctrl-C can end

        def make():
            handle = ctypes.c_void_p()
            call(C.gw_comm_split, self._address(), color, key, byref(handle))
            return handle
        with self._lock:
            handle = interruptible(make, discard=_destroy, abandon=self._lose)
        if not handle:
            return None
        sub = object.__new__(Communicator)
        sub._events = self._events
        sub._adopt(handle)
        return sub

    def progress_with(self, other: "Communicator") -> None:
        """Lets calls of both communicators progress together, for one thread in which
        ranks wait for each other on both; see gw_comm_progress_with."""
        instance("other", other, Communicator)
        with self._lock, other._lock:
            if C.gw_comm_progress_with(self._address(), other._address()):
                raise ValueError("other: it is this communicator, or one of them has 8 others")

    def counters(self, peer: int) -> Counters:
        """Returns the traffic between this rank and `peer` so far."""
        counters = structs["gw_counters"]()
        peer = self._rank("peer", peer)
        with self._lock:
            C.gw_comm_counters(self._address(), peer, byref(counters))
        return Counters(*(getattr(counters, name) for name in Counters._fields))

    def abort(self, sentence: str) -> None:
        """Ends the communicator on all ranks, with an Error of that sentence."""
        with self._lock:
            C.gw_comm_abort(self._address(), EINTR, text("sentence", sentence))

    def close(self) -> None:
        """Closes the communicator. Unfinished requests become invalid."""
        super().close()

    def __repr__(self) -> str:
        state = "" if self._handle else ", closed"
        return f"<gradwire.Communicator rank {self.rank} of {self.size}, {self.wire}{state}>"

    # ---- inside ----

    def _close(self, timeout=-1):
        super()._close(timeout)
        if not self._handle:
            self.__dict__.get("_dropped", []).clear()

    def _lose(self):
        self._abandon("was interrupted in split")

    def _error(self) -> Error:
        address = C.gw_comm_error(self._address())
        return Error(structs["gw_error"].from_address(address).code, sentence_at(address))

    def _interrupt(self, name, kind):
        with self._lock:
            if self._handle:
                self.abort(f"{name}: rank {self.rank} was interrupted by {kind}")

    def _rank(self, name, rank):
        rank = whole(name, rank, -U32_MAX)
        if not 0 <= rank < self.size:
            raise ValueError(f"{name}: {rank} is not a rank; there are {self.size}")
        return rank

    def _rows(self, array, dtype):
        memory = view(array, "array", dtype)
        if not memory.shape or memory.shape[0] != self.size:
            raise ValueError(f"array: its shape is {memory.shape}; its first axis must "
                             f"be the {self.size} ranks")
        return memory

    def _blocks(self, name, counts, displs_name, displs):
        return Blocks(name, counts, displs_name, displs, self.size)

    def _collective(self, name, memory, target, count, value, *, op="sum", root=0, algo=None,
                    blocks=None, received=None, wait=True):
        made = structs["gw_call"](collective=COLLECTIVES.index(name), count=count, root=root)
        known = memory or target
        if known:
            made.type = known.type
        if name in ("reduce", "allreduce", "reduce_scatter", "scan", "exscan"):
            made.op = reduction(op, known)
        place_buffers(made, name, memory, target, self.rank, blocks)
        if blocks:
            made.counts, made.displs = blocks.addresses
        if received:
            made.recv_counts, made.recv_displs = received.addresses
        place_algo(made, algo, name, self.size)

        def start(handle):
            if wait:
                return C.gw_run_for(self._address(), byref(made), slice_ns(), handle)
            return C.gw_start(self._address(), byref(made), handle)
        return self._begin(name, start, (memory, target, blocks, received, algo), value, wait)

    def _message(self, function, name, memory, peer_name, peer, value, wait):
        peer = self._rank(peer_name, peer)
        if peer == self.rank:
            raise ValueError(f"{peer_name}: {peer} is this rank")

        def start(handle):
            return function(self._address(), memory.address, memory.count, memory.type, peer,
                            handle)
        return self._begin(name, start, memory, value, wait)

    def _begin(self, name, start, owners, value, wait):
        """Starts a call, and waits for it. An interruption ends the communicator; errors of
        the call are raised after that."""
        self._address()
        handle, request, error = ctypes.c_void_p(), None, None
        with Interruption(self, name):
            with self._lock:
                if self._dropped:
                    sweep(self._dropped)
                code = start(byref(handle))
                if code and code != PENDING:
                    error = self._error()
            if handle:
                request = Request(self, name, handle, owners, value)
                if wait:
                    request._wait()
        if error:
            raise error
        if not wait:
            return request
        return request._result() if request else value


def _destroy(handle):
    C.gw_comm_destroy(byref(handle))


for _name in COLLECTIVES + "gatherv scatterv allgatherv alltoallv send recv".split():
    describe(getattr(Communicator, _name))
