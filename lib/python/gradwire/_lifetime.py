# SPDX-License-Identifier: MIT
"""Objects of the library that talk to other processes, and how they end: by close(), by
`with`, by the garbage collector, at the end of the interpreter; and not in the child of a
fork, where they belong to the parent."""

import atexit
import ctypes
import itertools
import os
import threading
import weakref
from typing import Any, Callable

_PATIENCE_S = 1.0
_GUESTS = "belongs to the parent process; make another one after fork()"


class FairLock:
    """A reentrant lock. A thread that releases it to take it again lets those pass that
    wait: they hold the gate."""

    def __init__(self):
        self._lock, self._gate = threading.RLock(), threading.Lock()

    def acquire(self, timeout: float = -1) -> bool:
        if self._lock._is_owned():
            return self._lock.acquire()
        if not self._gate.acquire(timeout=timeout):
            return False
        try:
            return self._lock.acquire(timeout=timeout)
        finally:
            self._gate.release()

    def release(self) -> None:
        self._lock.release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *exception: Any) -> None:
        self._lock.release()


class Handle:
    """An object of C, which exactly one destroy ends. The lock is held in all calls, as C
    wants one thread at a time."""

    _handle: Any = None
    _lock: FairLock
    _what = "object"
    _end = "is closed"
    _destroy: Callable[[Any], None]

    def _adopt(self, handle: ctypes.c_void_p) -> None:
        self._lock, self._handle = FairLock(), handle
        _alive[next(_serials)] = self

    def _address(self) -> ctypes.c_void_p:
        if not self._handle:
            raise ValueError(f"the {self._what} {self._end}")
        return self._handle

    def _abandon(self, end: str) -> None:
        """Never destroys it: C still uses it, or another process does."""
        self._handle, self._end = None, end

    def _stop(self, handle: ctypes.c_void_p) -> None:
        """Ends the call of another thread, if C can do that."""

    def _close(self, timeout: float = -1) -> None:
        handle = self._handle
        if not handle:
            return
        if not self._lock.acquire(_PATIENCE_S):
            self._stop(handle)
            if not self._lock.acquire(timeout):
                return
        try:
            handle, self._handle = self._handle, None
            if handle:
                self._destroy(handle)
        finally:
            self._lock.release()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def close(self) -> None:
        """Closes it."""
        self._close()

    def __del__(self):
        self._close()

    def __reduce__(self):
        raise TypeError(f"a {self._what} cannot be copied or sent to another process")


_serials = itertools.count()
_alive: "weakref.WeakValueDictionary[int, Handle]" = weakref.WeakValueDictionary()


@atexit.register
def _close_all() -> None:
    """Closes the newest first, so that the others learn at once that this process ends."""
    for serial in sorted(_alive, reverse=True):
        handle = _alive.get(serial)
        if handle is not None:
            handle._close(_PATIENCE_S)


def _leave_to_the_parent() -> None:
    for handle in list(_alive.values()):
        handle._abandon(_GUESTS)
        handle._lock = FairLock()  # another thread may have held it


os.register_at_fork(after_in_child=_leave_to_the_parent)
