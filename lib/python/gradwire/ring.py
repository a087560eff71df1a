# SPDX-License-Identifier: MIT
"""The elastic ring: all-reduces that go on when members die and join."""

import ctypes
import sys
import threading
from ctypes import byref
from typing import Any, Callable, NamedTuple, Optional, Tuple

import numpy as np

from ._arrays import numpy_type, result, view
from ._calls import expect, expect_apart, reduction
from ._checks import milliseconds, optional, whole, wire as wire_name
from ._errors import Error, call
from ._library import C, structs
from ._lifetime import Handle
from ._waiting import interruptible
from .events import address_of

_U64_MAX, _NONE = 2**64 - 1, 2**32 - 1
_APPLY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(structs["gw_ring_result"]))


class Turn(NamedTuple):
    """The next op, and the place of this member in it."""

    op: int
    epoch: int
    place: int
    members: Tuple[int, ...]  # nodes, by place


class RingResult(NamedTuple):
    """The result of an op."""

    data: np.ndarray
    op: int
    epoch: int
    contributors: Tuple[int, ...]  # nodes whose input counts
    members: Tuple[int, ...]  # nodes, by their places at the beginning
    tag: int


class Ring(Handle):
    """A member of an elastic ring. Its log is the results of its ops, which all members
    apply in order to their own copy of the state; so all copies are equal.

        def apply(state, result):
            state -= 0.1 / len(result.contributors) * result.data

        with gradwire.Ring(weights, apply) as ring:
            for _ in range(100):
                turn = ring.begin()
                ring.allreduce(gradient(weights, turn.place, len(turn.members)))

    When a member dies, the others agree whether its contribution counts, and go on. A
    joiner copies the state first. Leaving the `with` block leaves the ring; an exception
    leaves it as if the process had died.

    The environment names the cluster: GW_CONTROLLERS=tcp://HOST:PORT,... (of
    `psnode controller --ring N`), GW_CLUSTER, GRADWIRE_KEY, GW_MIN_SIZE, GW_MAX_SIZE,
    GW_PATIENCE; gradwire-cluster(7).

    Args:
        state: a writable array. Only `apply` may change it.
        apply: called with (state, RingResult) in the order of ops; result.data is valid
            only until it returns. It must be a pure function of the two. An exception in
            it is raised by the call of the ring.
        min_size, max_size: bounds of the number of members; 0: none.
        patience, join_timeout: seconds to wait for others; None: the default.
    Raises:
        Error: GW_EINVAL: no controllers, or the ring is full. GW_ECLOSED: this process was
            declared dead; make a new Ring. GW_EUNREACH: no controllers for `patience`.
            GW_EMISMATCH: the members have states of other sizes, or made other calls.
    """

    def __init__(self, state: Any, apply: Callable[[Any, RingResult], None], *,
                 min_size: int = 0, max_size: int = 0, patience: Optional[float] = None,
                 join_timeout: Optional[float] = None, wire: Optional[str] = None,
                 key_file: Any = None, insecure: bool = False, events: Any = None):
        memory = view(state, "state", writable=True)
        self._state, self._apply, self._failure = state, apply, None
        self._applying: Optional[int] = None  # the thread
        self._callback = _APPLY(self._on_result)
        config = structs["gw_ring_config"](
            wire=wire_name(wire), key_file=optional("key_file", key_file), insecure=bool(insecure),
            events=address_of(events), min_size=whole("min_size", min_size),
            max_size=whole("max_size", max_size), patience_ms=milliseconds("patience", patience),
            join_timeout_ms=milliseconds("join_timeout", join_timeout),
            state=memory.address, state_bytes=memory.bytes,
            apply=ctypes.cast(self._callback, ctypes.c_void_p))
        self._keep = memory, events, config
        joining = ctypes.c_void_p()

        def join():
            call(C.gw_ring_from_env, byref(config), byref(joining))
            return self  # which must live until here
        interruptible(join, stop=lambda: joining and C.gw_ring_interrupt(joining),
                      discard=lambda _: self._destroy(joining))
        self._adopt(joining)
        self.node: int = self.status().node
        self._raise_failure()

    _what = "ring"

    @staticmethod
    def _destroy(handle):
        C.gw_ring_destroy(byref(handle))

    def begin(self) -> Turn:
        """Begins the next op: admits joiners, adopts a new view. Waits for members if
        there are fewer than min_size."""
        turn = structs["gw_ring_turn"]()
        self._call(C.gw_ring_begin, byref(turn))
        return Turn(turn.op, turn.epoch, turn.place,
                    tuple(turn.initial_members[:turn.initial_count]))

    def allreduce(self, array: Any, op: str = "sum", out: Any = None, *, tag: int = 0,
                  dtype: Any = None) -> RingResult:
        """Reduces the arrays of the members, applies the result to the state, and returns
        it.

        Args:
            array: the same shape on all members.
            op:    as Communicator.allreduce.
            out:   that shape; `array` itself means in place.
            tag:   a number for `apply`.
        """
        memory = view(array, "array", dtype)
        out, target = result(out, memory, memory.shape, dtype)
        expect("out", target, memory.count)
        if memory.address != target.address:
            expect_apart(memory, target)
        made = structs["gw_ring_call"](out=target.address, count=memory.count,
                                       type=memory.type, op=reduction(op, memory),
                                       tag=whole("tag", tag))
        setattr(made, "in", memory.address)
        raw = structs["gw_ring_result"]()
        self._call(C.gw_ring_allreduce, byref(made), byref(raw), keep=(memory, target))
        return _result_of(raw, out)

    def check(self) -> None:
        """Checks, by an op of its own, that the states of all members are equal.
        Error GW_EWRONG names the nodes that differ."""
        self._call(C.gw_ring_check)

    def status(self) -> Any:
        """Returns the fields of struct gw_ring_status (gradwire-ring(3)): node, size,
        epoch, op, ops_done, recoveries, lost, doubled, text..."""
        status = structs["gw_ring_status"]()
        C.gw_ring_status(self._address(), byref(status))
        return status

    def report(self, step: int, loss: float = float("nan"), data_epoch: int = 0, *,
               lost: int = 0, doubled: int = 0, done: bool = False) -> None:
        """Reports the progress of the program, which `ringctl` and `ringtop` show, and
        events of the step and its loss.

        Args:
            step: training steps in the state.
            loss: of the newest step.
            data_epoch: from 0.
            lost, doubled: samples that the program has found to be so.
            done: the work is complete.
        """
        progress = structs["gw_ring_progress"](
            step=whole("step", step, high=_U64_MAX), data_epoch=whole("data_epoch", data_epoch),
            loss=loss, samples_lost=lost, samples_doubled=doubled, done=bool(done))
        C.gw_ring_report(self._address(), byref(progress))

    def leave(self) -> None:
        """Leaves the ring between ops; the contributions count. The last member just
        closes."""
        try:
            self._call(C.gw_ring_leave)
        except Error as error:
            if error.code != "GW_EINVAL":
                raise
        self.close()

    def _stop(self, handle):
        C.gw_ring_interrupt(handle)

    def close(self) -> None:
        """Ends membership without notice, as a death would. Ends a call of another thread
        that goes on for a second."""
        super().close()

    def __exit__(self, kind, *_) -> None:
        if kind or not self._handle:
            self.close()
        else:
            self.leave()

    def _call(self, function, *arguments, keep=None):
        if self._applying == threading.get_ident():
            raise RuntimeError("apply: it cannot call its ring")
        with self._lock:
            handle = self._address()

            def run():
                call(function, handle, *arguments)
                return keep  # the arrays live until here
            interruptible(run, stop=lambda: self._stop(handle),
                          abandon=lambda: self._abandon("was interrupted in a call"))
            self._raise_failure()

    def _raise_failure(self):
        if self._failure:
            failure, self._failure = self._failure, None
            raise failure

    def _on_result(self, _, raw):
        """Calls `apply`, in the thread that called the ring or runs its calls."""
        self._applying = threading.get_ident()
        try:
            if self._apply and not self._failure:
                data = _data_of(raw[0])
                self._apply(self._state, _result_of(raw[0], data))
                if sys.getrefcount(data) > 2:  # one of them is the argument here
                    raise RuntimeError("apply: it keeps result.data, which is valid only until "
                                       "it returns; keep a copy")
        except BaseException as error:  # C must not see it
            self._failure = error
        finally:
            self._applying = None


class Shards:
    """A pool of data shards within the state of a ring. A shard, such as a batch of
    samples, is leased for one op. Place i of an op has the i-th shard that is not done;
    the shards of the contributors are done, the others return to the pool. So each shard
    is used once per data epoch, whichever members die or join.

        state = bytearray(Shards.bytes(100))
        shards = Shards(state, 100)
        shards.of(turn.place)     # before an op
        shards.complete(result)   # in `apply`

    Attributes:
        count, done: shards, and those that are done in this epoch.
        epoch: data epochs that are complete.
        lost, doubled: shards of complete epochs that were not used, or twice; 0 if right.

    Args:
        memory: writable, of Shards.bytes(count) bytes, aligned to 8.
        count: from 1.
        fresh: False: the memory is a pool already.
    """

    def __init__(self, memory: Any, count: int, fresh: bool = True):
        view_of = view(memory, "memory", writable=True)
        count = whole("count", count, 1)
        if view_of.bytes < self.bytes(count) or view_of.address % 8:
            raise ValueError(f"memory: {view_of.bytes} bytes at {view_of.address:#x} instead of "
                             f"{self.bytes(count)} bytes, aligned to 8")
        self._keep, self._at = view_of, view_of.address
        if fresh:
            C.gw_shards_init(self._at, count)
        self._head = structs["gw_shards"].from_address(self._at)

    @staticmethod
    def bytes(count: int) -> int:
        """Returns the bytes of a pool."""
        return C.gw_shards_bytes(whole("count", count, 1))

    def of(self, place: int) -> Optional[int]:
        """Returns the shard of a place; None: fewer are left in this epoch."""
        shard = C.gw_shards_of(self._at, whole("place", place))
        return None if shard == _NONE else shard

    def complete(self, result: RingResult) -> None:
        """Marks the shards of the contributors as done, in `apply`."""
        raw = structs["gw_ring_result"](initial_count=len(result.members))
        for node in result.contributors:
            raw.contributors.words[node // 64] |= 1 << node % 64
        raw.initial_members[:len(result.members)] = result.members
        C.gw_shards_complete(self._at, byref(raw))

    def __getattr__(self, name: str) -> int:
        if name in ("count", "done", "epoch", "lost", "doubled"):
            return getattr(self._head, name)
        raise AttributeError(name)


def _data_of(raw) -> np.ndarray:
    kind = numpy_type(raw.type)
    memory = (ctypes.c_char * (raw.count * kind.itemsize)).from_address(raw.data)
    array = np.frombuffer(memory, dtype=kind)
    array.flags.writeable = False
    return array


def _result_of(raw, data) -> RingResult:
    words = raw.contributors.words
    contributors = tuple(64 * i + bit for i, word in enumerate(words) if word
                         for bit in range(64) if word >> bit & 1)
    return RingResult(data, raw.op, raw.epoch, contributors,
                      tuple(raw.initial_members[:raw.initial_count]), raw.tag)
