# SPDX-License-Identifier: MIT
"""Plans: algorithms as data."""

import ctypes
from ctypes import byref
from typing import Any, Dict, NamedTuple, Optional

from ._arrays import SIZES, number_of
from ._checks import COUNT_MAX, text, whole, wire as wire_name
from ._errors import Error, call
from ._library import C, structs
from ._lifetime import Handle
from ._waiting import interruptible


class Verdict(NamedTuple):
    """The result of a proof. It is true if the plan is right."""

    fault: str  # "none", or its name
    sentence: str  # step, ranks and chunk of the fault
    history: str  # of that chunk, one line per transfer

    def __bool__(self) -> bool:
        return self.fault == "none"


class Price(NamedTuple):
    """The price of a plan: exact counts, and times in microseconds."""

    rounds: int
    messages: int
    bytes: int
    rank_messages_max: int
    rank_bytes_max: int
    rank_received_max: int
    link_bytes_max: int
    rank_reduced_max: int
    predicted_us: float
    bound_us: float


class Plan:
    """An algorithm of a collective: who sends which chunk to whom, step by step.

        plan = gradwire.Plan.from_text('''
            allreduce ranks=2 chunks=1
            step 0>1 c0 +
            step 1>0 c0 =''')
        assert plan.verify()
        plan.run(comm, array)

    Attributes: collective, ranks, chunks, root, steps, transfers, algo (its name).
    `str(plan)` is its text (gradwire-plan(5)).
    """

    def __init__(self, handle: ctypes.c_void_p):
        self._handle = handle
        raw = structs["gw_plan"].from_address(handle.value)
        self.collective: str = C.gw_collective_name(raw.collective).decode()
        self.algo: str = raw.algo.decode()
        self.ranks: int = raw.ranks
        self.chunks: int = raw.chunks
        self.root: int = raw.root
        self.steps: int = raw.steps
        self.transfers: int = raw.transfer_count

    @classmethod
    def from_text(cls, plan: str, ranks: int = 0, name: str = "plan") -> "Plan":
        """Reads the text form. Common indentation is removed.

        Args:
            ranks: P, the number of ranks; 0: that of the header.
            name:  for errors.
        Raises:
            Error: GW_EDATA: the text is wrong; it begins with "name:line:column: ".
        """
        import textwrap
        if not isinstance(plan, str):
            raise TypeError(f"plan: {plan!r} is not a str")
        data = textwrap.dedent(plan).strip("\n").encode() + b"\n"
        handle = ctypes.c_void_p()
        call(C.gw_plan_parse, data, len(data), text("name", name), whole("ranks", ranks),
             byref(handle))
        return cls(handle)

    @classmethod
    def load(cls, path: Any, ranks: int = 0) -> "Plan":
        """Reads a .plan file, as from_text."""
        handle = ctypes.c_void_p()
        call(C.gw_plan_load, text("path", path), whole("ranks", ranks), byref(handle))
        return cls(handle)

    @classmethod
    def make(cls, collective: str, algo: str, ranks: int, root: int = 0, segments: int = 0,
             group: int = 0) -> "Plan":
        """The plan of an algorithm of the library (gradwire.algorithms).

        Raises:
            Error: GW_EINVAL: unknown, or not for that number of ranks.
        """
        handle = ctypes.c_void_p()
        shape = structs["gw_algo_args"](whole("ranks", ranks), whole("root", root),
                                        whole("segments", segments), whole("group", group))
        call(C.gw_plan_make, _collective(collective), text("algo", algo), byref(shape),
             byref(handle))
        return cls(handle)

    def verify(self, buffers: int = 1) -> Verdict:
        """Proves by symbolic execution that each contribution arrives exactly once, and
        that the plan cannot deadlock.

        Args:
            buffers: chunks that a link can hold.
        """
        buffers = whole("buffers", buffers, 1)

        def prove():
            verdict = structs["gw_verdict"]()
            why = structs["gw_error"]()
            code = C.gw_plan_verify(self._handle, buffers, byref(verdict), byref(why))
            if code and not verdict.fault:
                raise Error(code, why.text.decode())
            return verdict
        found = interruptible(prove)
        return Verdict(C.gw_fault_name(found.fault).decode(), found.sentence.decode(),
                       found.history.decode())

    def price(self, count: int, dtype: Any = "f32", *, wire: str = "shm",
              alpha_us: Optional[float] = None, beta_us_per_byte: Optional[float] = None,
              gamma_us_per_byte: Optional[float] = None) -> Price:
        """Counts rounds, messages and bytes, and predicts the time.

        Args:
            count: elements, as in the collective: of the buffer for broadcast, reduce
                and allreduce, otherwise of a block.
            wire: whose measured costs are used where the others are None.
            alpha_us, beta_us_per_byte, gamma_us_per_byte: costs of a message, of a
                byte sent, of a byte reduced.
        """
        costs, price = structs["gw_wire_costs"](), structs["gw_price"]()
        C.gw_costs(wire_name(wire), byref(costs), byref(ctypes.c_bool()))
        given = {"alpha_us": alpha_us, "beta_us_per_byte": beta_us_per_byte,
                 "gamma_us_per_byte": gamma_us_per_byte}
        for name, value in given.items():
            if value is not None:
                setattr(costs.model, name, value)
        call(C.gw_plan_price, self._handle, whole("count", count, high=COUNT_MAX),
             SIZES[number_of(dtype)], byref(costs.model), byref(price))
        return Price(*(getattr(price, name) for name in Price._fields))

    def run(self, comm: Any, *arguments: Any, **options: Any) -> Any:
        """Runs the plan: the collective of that name of the communicator, with its
        arguments. ValueError: the plan is for another number of ranks."""
        if not isinstance(comm, Handle) or not hasattr(comm, self.collective):
            raise TypeError(f"comm: {type(comm).__name__} is not a gradwire.Communicator")
        if comm.size != self.ranks:
            raise ValueError(f"comm: it has {comm.size} ranks, the plan {self.ranks}")
        if self.collective in ("broadcast", "reduce", "gather", "scatter"):
            options.setdefault("root", self.root)
        return getattr(comm, self.collective)(*arguments, algo=self, **options)

    @property
    def _address(self):
        return self._handle

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and hash(self) == hash(other)

    def __hash__(self) -> int:
        return C.gw_plan_hash(self._handle)

    def __str__(self) -> str:
        data, size = ctypes.c_void_p(), ctypes.c_size_t()
        file = _open_memstream(byref(data), byref(size))
        try:
            call(C.gw_plan_print, self._handle, file)
        finally:
            _fclose(file)
            printed = ctypes.string_at(data.value, size.value) if data.value else b""
            _free(data)
        return printed.decode()

    def __reduce__(self):
        return Plan.from_text, (str(self), self.ranks, self.algo)

    def __repr__(self) -> str:
        return (f"<gradwire.Plan {self.collective} {self.algo}, {self.ranks} ranks, "
                f"{self.steps} steps>")

    def __del__(self):
        if getattr(self, "_handle", None):
            C.gw_plan_destroy(byref(self._handle))


_libc = ctypes.CDLL(None)
_open_memstream, _fclose, _free = _libc.open_memstream, _libc.fclose, _libc.free
_open_memstream.restype = ctypes.c_void_p
_fclose.argtypes = _free.argtypes = [ctypes.c_void_p]


def _collective(name: str) -> int:
    number = ctypes.c_int()
    call(C.gw_collective_parse, text("collective", name), byref(number))
    return number.value


def algorithms(collective: str, ranks: int, count: int = 1, dtype: Any = "f32",
               wire: str = "shm") -> Dict[str, float]:
    """Returns the algorithms of a collective that are valid for that number of ranks,
    with their predicted times in microseconds, in the order of choice: a call without
    `algo` takes the first.

    Args:
        count: elements, as in the collective.
    """
    found = (structs["gw_candidate"] * 64)()
    used = C.gw_choose(wire_name(wire), _collective(collective), whole("ranks", ranks, 1),
                       whole("count", count, high=COUNT_MAX), SIZES[number_of(dtype)], found,
                       len(found))
    return {structs["gw_algo"].from_address(c.algo).name.decode(): c.predicted_us
            for c in found[:used]}
