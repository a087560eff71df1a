# SPDX-License-Identifier: MIT
"""Calls of a communicator that are in progress, and the wait for them."""

import ctypes
import threading
import time
from ctypes import byref
from typing import Any, Optional

from ._errors import PENDING
from ._library import C

# Between two looks at signals; and between two chances for other threads.
_SLICE_NS, _SHARED_SLICE_NS = 50_000_000, 5_000_000


def slice_ns() -> int:
    """How long a thread may wait in C."""
    return _SLICE_NS if threading.active_count() == 1 else _SHARED_SLICE_NS


class Interruption:
    """If Ctrl-C or another signal handler raises within a call, the communicator ends on
    all ranks: they would wait for this one in vain. Errors of the call itself are raised
    outside."""

    def __init__(self, comm: Any, name: str):
        self._comm, self._name = comm, name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind:
            self._comm._interrupt(self._name, kind.__name__)


class Request:
    """A call in progress, from a call with wait=False. It keeps its arrays alive; they must
    not be used until it is done. Several threads may wait for it."""

    def __init__(self, comm: Any, name: str, handle: ctypes.c_void_p, owners: Any, value: Any):
        self._comm, self._name, self._handle = comm, name, handle
        self._owners, self._value = owners, value
        self._done, self._failure = False, None

    def _finish(self, code: int) -> bool:
        """With the lock held, after C has returned that code."""
        if code == PENDING:
            return False
        self._failure = self._comm._error() if code else None
        self._done, self._owners = True, None
        return True

    def _result(self) -> Any:
        if self._failure:
            raise self._failure
        return self._value

    def _wait(self, deadline: Optional[float] = None) -> bool:
        """Waits for the end, or until the deadline of time.monotonic."""
        while not self._done:
            left_ns = slice_ns()
            if deadline is not None:
                left_ns = min(left_ns, max(0, int((deadline - time.monotonic()) * 1e9)))
            with self._comm._lock:
                self._comm._address()
                if self._done or self._finish(C.gw_wait_for(byref(self._handle), left_ns)):
                    break
            if left_ns == 0:
                return False
        return True

    def test(self) -> bool:
        """Makes progress; returns whether the call is done. Raises its Error."""
        with self._comm._lock:
            if not self._done:
                self._comm._address()
                self._finish(C.gw_test(byref(self._handle)))
        if self._done:
            self._result()
        return self._done

    def wait(self, timeout: Optional[float] = None) -> Any:
        """Waits until the call is done and returns its result: what the blocking call
        would return.

        Args:
            timeout: seconds; then TimeoutError, and the call goes on. None: no limit; the
                communicator's own limit ends a call without progress.
        Raises:
            Error: as the blocking call.
        """
        if timeout is not None and not 0 <= timeout < threading.TIMEOUT_MAX:
            raise ValueError(f"timeout: {timeout} s is not a length of time")
        with Interruption(self._comm, self._name):
            done = self._wait(None if timeout is None else time.monotonic() + timeout)
        if not done:
            raise TimeoutError(f"{self._name}: the call is not done after {timeout} s")
        return self._result()

    def __repr__(self) -> str:
        state = "in progress" if not self._done else "failed" if self._failure else "done"
        return f"<gradwire.Request {self._name}, {state}>"

    def __del__(self):
        if not self._done:
            self._comm._dropped.append((self._handle, self._owners))


def sweep(dropped: list) -> None:
    """Ends the calls of requests that nobody has any more. With the lock held."""
    pending = []
    while dropped:
        handle, owners = dropped.pop()
        if C.gw_test(byref(handle)) == PENDING:
            pending.append((handle, owners))
    dropped.extend(pending)
