# SPDX-License-Identifier: MIT
"""Long calls of the library that Ctrl-C must end.

Python runs signal handlers only in the main thread, between two bytecodes, so a
function of C that waits would delay them. The main thread therefore gives such a
call to a second thread, and waits for that in a way that signals interrupt. If
a handler raises, `stop` ends the call. (Collectives do not need this: they wait
in short slices, which costs no change of threads.)
"""

import os
import queue
import threading

_GRACE_S = 1.0


class _Job:
    """A call, with its result for the caller, or for `discard` if the caller has gone."""

    def __init__(self, function, discard):
        self.function, self.discard = function, discard
        self.result = self.error = None
        self.guard, self.running = threading.Lock(), threading.Lock()
        self.finished = self.abandoned = False
        self.running.acquire()

    def run(self):
        try:
            self.result = self.function()
        except BaseException as error:  # goes to the caller
            self.error = error
        with self.guard:
            self.finished = True
            if self.abandoned:
                self.throw_away()
        self.running.release()

    def throw_away(self):
        if self.discard and not self.error:
            self.discard(self.result)

    def abandon(self):
        """Returns whether the call has ended."""
        with self.guard:
            self.abandoned = True
            if self.finished:
                self.throw_away()
            return self.finished


class _Worker:
    def __init__(self):
        self.jobs = queue.SimpleQueue()
        threading.Thread(target=self._work, daemon=True, name="gradwire").start()

    def _work(self):
        while True:
            job = self.jobs.get()
            if job is None:
                return
            job.run()
            del job


_worker = None


def _forget_worker():
    """The child of a fork has no second thread."""
    global _worker
    _worker = None


os.register_at_fork(after_in_child=_forget_worker)


def interruptible(function, stop=None, discard=None, abandon=None):
    """Returns function(). If a signal handler raises meanwhile, stop() is called and the
    exception passes on. A function that goes on nevertheless is left in the background:
    abandon() is called, and its late result goes to `discard`."""
    global _worker
    if threading.current_thread() is not threading.main_thread():
        return function()
    if _worker is None:
        try:
            _worker = _Worker()
        except RuntimeError:  # the interpreter ends and starts no thread any more
            return function()
    job = _Job(function, discard)
    try:
        _worker.jobs.put(job)
        job.running.acquire()
    except BaseException:
        if stop:
            stop()
            job.running.acquire(timeout=_GRACE_S)
        if not job.abandon():
            _worker.jobs.put(None)  # it ends after this job
            _worker = None
            if abandon:
                abandon()
        raise
    if job.error:
        raise job.error
    return job.result
