# SPDX-License-Identifier: MIT
"""Clusters as data, and plans on them in virtual time."""

import ctypes
from ctypes import byref
from typing import Any, Dict, List, NamedTuple

import numpy as np

from ._arrays import SIZES, number_of
from ._checks import COUNT_MAX, instance, text, whole
from ._errors import call
from ._library import C, structs
from ._waiting import interruptible
from .events import address_of
from .plan import Plan


class Hop(NamedTuple):
    """A message of the critical path; times in microseconds from the beginning."""

    step: int
    src: int
    dst: int
    bytes: int
    begin_us: float
    end_us: float


class Simulation(NamedTuple):
    """The run of a plan in virtual time."""

    time_us: float
    messages: int
    bytes: int  # sent, all ranks
    uplink_bytes: int  # over all uplinks out of their racks
    rank_us: np.ndarray  # (ranks,): when each had finished
    link_bytes: Dict[str, int]  # of each link that carried bytes
    critical_path: List[Hop]  # its last messages, the last one first


class Topology:
    """Hosts in racks and the rates of their links (gradwire-topology(5)). Attributes:
    name, ranks."""

    def __init__(self, handle: ctypes.c_void_p):
        self._handle = handle
        self.name: str = C.gw_topology_name(handle).decode()
        self.ranks: int = C.gw_topology_ranks(handle)

    @classmethod
    def from_text(cls, topology: str, name: str = "topology") -> "Topology":
        """Reads the text form. Error GW_EDATA: it is wrong; the sentence begins with
        "name:line:column: "."""
        if not isinstance(topology, str):
            raise TypeError(f"topology: {topology!r} is not a str")
        handle, data = ctypes.c_void_p(), topology.encode()
        call(C.gw_topology_parse, data, len(data), text("name", name), byref(handle))
        return cls(handle)

    @classmethod
    def load(cls, path: Any) -> "Topology":
        """Reads a .topo file, as from_text."""
        handle = ctypes.c_void_p()
        call(C.gw_topology_load, text("path", path), byref(handle))
        return cls(handle)

    def simulate(self, plan: Any, count: int, dtype: Any = "f32", *, message_us: float = 0,
                 reduce_us_per_byte: float = 0, events: Any = None) -> Simulation:
        """Simulates ranks 0 to plan.ranks - 1, message by message. The same arguments
        give the same result, to the bit.

        Args:
            count: elements, as in Plan.price.
            message_us: time of the sender per message.
            events: gradwire.Events; times are virtual.
        Raises:
            Error: GW_EINVAL: the plan has more ranks than the topology.
        """
        run = structs["gw_topology_run"](
            plan=instance("plan", plan, Plan)._address,
            count=whole("count", count, high=COUNT_MAX), elem_bytes=SIZES[number_of(dtype)],
            message_us=message_us, reduce_us_per_byte=reduce_us_per_byte,
            events=address_of(events))

        def simulate():
            raw = ctypes.c_void_p()
            call(C.gw_topology_simulate, self._handle, byref(run), byref(raw))
            return raw, plan, events  # which must live until here
        raw = interruptible(simulate, discard=lambda made: _destroy(made[0]))[0]
        try:
            return self._result(structs["gw_topology_result"].from_address(raw.value))
        finally:
            _destroy(raw)

    def _result(self, raw) -> Simulation:
        rank_us = np.ctypeslib.as_array((ctypes.c_double * raw.ranks).from_address(raw.rank_us))
        carried = (ctypes.c_uint64 * raw.links).from_address(raw.link_bytes)
        name = ctypes.create_string_buffer(64)
        links = {}
        for i, sent in enumerate(carried):
            if sent:
                C.gw_topology_link_name(self._handle, i, name)
                links[name.value.decode()] = sent
        path = [Hop(*(getattr(hop, field) for field in Hop._fields))
                for hop in raw.hop[:raw.hops]]
        return Simulation(raw.time_us, raw.messages, raw.bytes, raw.uplink_bytes,
                          rank_us.copy(), links, path)

    def __del__(self):
        if getattr(self, "_handle", None):
            C.gw_topology_destroy(byref(self._handle))


def _destroy(raw):
    C.gw_topology_result_destroy(byref(raw))
