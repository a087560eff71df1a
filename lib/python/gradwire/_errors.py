# SPDX-License-Identifier: MIT
"""Errors of the library as an exception."""

import re
from ctypes import byref, cast, POINTER
from typing import Optional

from ._library import C, structs

OK, PENDING = 0, 1
_NAMES = {C.gw_err_name(code).decode(): code for code in range(-17, 2)}
EINTR, EDATA = _NAMES["GW_EINTR"], _NAMES["GW_EDATA"]

_OP = re.compile(r"\b([a-z_/]+) op (\d+)")
_CALL = re.compile(r"\b([a-z_/]+): rank \d+")
_RANK = re.compile(r"\brank (\d+)")
_LOST = re.compile(r"\brank (\d+)(?: \(pid \d+\))? (?:lost|died|(?:has )?closed)")


class Error(Exception):
    """An error of the library. `str(error)` is its sentence, such as
    "allreduce op 12: rank 0 waits for rank 3 to begin its call: rank 3 (pid
    4711) died".

    Attributes, where the sentence has them (otherwise None):
        code: its name, such as "GW_ELOST"; gradwire-base(3) lists all.
        rank: the rank that has found it.
        peer: the rank that is lost, or that it waits for, or that called something else.
        op:   the number of the call in its communicator, from 0.
        call: the name of the call, such as "allreduce".
    """

    code: str
    rank: Optional[int]
    peer: Optional[int]
    op: Optional[int]
    call: Optional[str]

    def __init__(self, code: int, sentence: str) -> None:
        super().__init__(sentence)
        self.code = C.gw_err_name(code).decode()
        op, call = _OP.search(sentence), _CALL.search(sentence)
        ranks = list(dict.fromkeys(map(int, _RANK.findall(sentence))))
        lost = _LOST.search(sentence)
        self.peer = int(lost[1]) if lost else ranks[1] if len(ranks) > 1 else None
        self.rank = ranks[0] if ranks and ranks != [self.peer] else None
        self.op = int(op[2]) if op else None
        self.call = op[1] if op else call[1] if call else None

    def __reduce__(self):
        return Error, (_NAMES[self.code], str(self))


def call(function, *arguments):
    """Calls a function whose last parameter is `struct gw_error *why`."""
    why = structs["gw_error"]()
    code = function(*arguments, byref(why))
    if code:
        raise Error(code, why.text.decode(errors="replace"))


def sentence_at(address):
    """The text of a `struct gw_error *`."""
    return cast(address, POINTER(structs["gw_error"]))[0].text.decode(errors="replace")
