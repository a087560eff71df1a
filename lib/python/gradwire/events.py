# SPDX-License-Identifier: MIT
"""The event stream: what ranks, rings, servers and the simulator do."""

import ctypes
from ctypes import byref
from typing import Any, Iterator, NamedTuple, Optional

from ._checks import instance, whole
from ._errors import EDATA, Error, call
from ._library import C, structs

_NONE = 2**32 - 1
_TEXT_BYTES, _CAPACITY_MAX = 256, 2**26


class Event(NamedTuple):
    """One event; gradwire-event(3) describes the fields of each kind. `str` of it
    is a sentence. A field that does not apply is None."""

    kind: str
    time_ns: int
    rank: Optional[int]
    peer: Optional[int]
    epoch: Optional[int]
    op: Optional[int]
    step: Optional[int]
    chunk: Optional[int]
    bytes: int
    value: int
    number: int  # of the kind

    def __str__(self) -> str:
        fields = {name: _NONE if value is None else value
                  for name, value in self._asdict().items()
                  if name not in ("kind", "number")}
        raw = structs["gw_event"](kind=self.number, **fields)
        out = ctypes.create_string_buffer(_TEXT_BYTES)
        C.gw_event_text(byref(raw), out, _TEXT_BYTES)
        return out.value.decode()


def _event_of(raw) -> Event:
    fields = {name: getattr(raw, name) for name in Event._fields if name not in ("kind", "number")}
    for name in ("rank", "peer", "epoch", "op", "step", "chunk"):
        if fields[name] == _NONE:
            fields[name] = None
    return Event(kind=C.gw_event_name(raw.kind).decode(), number=raw.kind, **fields)


class Events:
    """Keeps the newest events of the communicator, ring, client or simulation to
    which it is given as `events=`. Iterating it yields those since the last time,
    oldest first, and ends when there is no newer one; `dropped` counts those that
    were overwritten before they were read.

        events = gradwire.Events()
        gradwire.init(events=events)
        gradwire.barrier()
        for event in events:
            print(event.time_ns, event)

    Args:
        capacity: events that are kept, of 64 bytes each.
    """

    def __init__(self, capacity: int = 65536):
        self._sink = ctypes.c_void_p()
        self._capacity = whole("capacity", capacity, 1, _CAPACITY_MAX)
        self._read = self.dropped = 0
        call(C.gw_sink_ring, capacity, byref(self._sink))

    def __iter__(self) -> Iterator[Event]:
        raw = (structs["gw_event"] * self._capacity)()
        overwritten = ctypes.c_uint64()
        count = C.gw_sink_ring_read(self._sink, raw, self._capacity, byref(overwritten))
        first = max(0, self._read - overwritten.value)
        self.dropped += max(0, overwritten.value - self._read)
        self._read = overwritten.value + count
        return iter([_event_of(raw[i]) for i in range(first, count)])

    def __del__(self):
        if getattr(self, "_sink", None):
            C.gw_sink_close(byref(self._sink))


def address_of(events: Any) -> Any:
    """The argument `events` for C."""
    return None if events is None else instance("events", events, Events)._sink


def read_events(path: Any) -> Iterator[Event]:
    """Yields the events of a recording: a file of JSON lines, such as events.jsonl of
    a run. Error GW_EDATA: a line is not an event; the sentence has its number."""
    with open(path, "rb") as lines:
        for number, line in enumerate(lines, 1):
            raw = structs["gw_event"]()
            try:
                call(C.gw_event_parse, line, byref(raw))
            except Error as error:
                raise Error(EDATA, f"{path}:{number}: {error}") from None
            yield _event_of(raw)
