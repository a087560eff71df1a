# SPDX-License-Identifier: MIT
"""What all calls of a communicator have in common, for the help of each."""

import inspect
from typing import Any, Callable

_PARAMETERS = {
    "op": 'op: "sum", "prod", "min", "max", "avg"; of integers also "land",\n'
          '    "lor", "band", "bor". avg of integers truncates toward zero.',
    "root": "root: a rank, from 0; the same on all ranks.",
    "out": "out: None: a new array. Memory that is the input's means in place.",
    "dtype": 'dtype: a type of as many bytes for the elements, such as "bf16" for\n'
             "    uint16; None: the array's.",
    "algo": "algo: the name of an algorithm (gradwire.algorithms), or a Plan; the\n"
            "    same on all ranks. None: the fastest.",
    "wait": "wait: False returns a Request at once.",
}
_ERRORS = """
Raises:
    TypeError, ValueError: name the argument; nothing was sent.
    Error: on all ranks, after which the communicator refuses calls:
        GW_ELOST (a peer has died), GW_ECLOSED (a peer has closed it),
        GW_ETIMEOUT, GW_EMISMATCH (ranks have called different things),
        GW_EINTR (a rank was interrupted; there it is KeyboardInterrupt).
"""


def describe(function: Callable[..., Any]) -> None:
    """Appends the common parameters and errors to a docstring."""
    doc = inspect.cleandoc(function.__doc__ or "")
    names = [name for name in inspect.signature(function).parameters
             if name in _PARAMETERS and f"    {name}:" not in doc]
    lines = "\n".join(_PARAMETERS[name] for name in names)
    heading = "\n\nCommon parameters:\n    " if lines else "\n"
    function.__doc__ = doc + heading + lines.replace("\n", "\n    ") + "\n" + _ERRORS
