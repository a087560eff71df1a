# SPDX-License-Identifier: MIT
"""A rank that does what a stranger might do: operand 1 names it. Prints "ok" at its end."""

import gc
import os
import signal
import sys
import threading
import time

import numpy as np

import gradwire


def raised(kind, function, *words):
    """function() must raise that exception, whose sentence has the words."""
    try:
        function()
    except kind as error:
        for word in words:
            assert word in str(error), error
        return error
    raise AssertionError(f"no {kind.__name__}")


def fork():
    """The child must leave the parent's objects alone, and can make its own."""
    shared = gradwire.empty(1000)
    gradwire.Plan.make("allreduce", "ring", 3).verify()  # by the second thread
    request = comm.allreduce(shared, wait=False)
    pid = os.fork()
    if pid == 0:
        raised(ValueError, lambda: comm.barrier(), "belongs to the parent process")
        raised(ValueError, lambda: gradwire.allreduce(np.ones(1)), "after fork()")
        raised(ValueError, request.wait, "belongs to the parent process")
        assert gradwire.Plan.make("allreduce", "ring", 3).verify()
        alone = gradwire.init(0, 1)
        assert gradwire.allreduce(np.ones(2)).sum() == 2 and alone.size == 1
        sys.exit(7)  # with exit handlers
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    request.wait()
    for _ in range(100):
        assert comm.allreduce(np.ones(1000))[0] == size


def threads():
    """A thread that waits lets the others use the communicator; and several communicators
    in several threads do not disturb each other."""
    mine, other = np.full(10, comm.rank, "f4"), np.empty(10, "f4")
    peer = 1 - comm.rank
    if comm.rank == 0:
        waiting = threading.Thread(target=comm.recv, args=(other, peer))
        waiting.start()
        time.sleep(0.1)  # likely that it waits: the send below must pass either way
        comm.send(mine, peer)
        waiting.join()
    else:
        comm.recv(other, peer)
        comm.send(mine, peer)
    assert (other == peer).all()
    parts, failures = [comm.split(0) for _ in range(4)], []

    def work(part, number):
        try:
            for turn in range(100):
                assert part.allreduce(np.array([number + turn]))[0] == size * (number + turn)
        except BaseException as error:
            failures.append(error)
    workers = [threading.Thread(target=work, args=(part, i)) for i, part in enumerate(parts)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures, failures


def ranks_as_threads():
    """Two ranks in one process, on each wire."""
    for wire in ("shm", "ipc", "tcp"):
        where = f"ipc://@gradwire-stranger-{os.getpid()}-{wire}"
        sums = []

        def rank(number):
            with gradwire.Communicator(number, 2, where, wire=wire, timeout=60) as mine:
                sums.append(int(mine.allreduce(np.array([number + 1]))[0]))
        pair = [threading.Thread(target=rank, args=(number,)) for number in range(2)]
        for one in pair:
            one.start()
        for one in pair:
            one.join()
        assert sums == [3, 3], (wire, sums)


def collected():
    """Communicators and requests that the collector takes while a call is under way."""
    for turn in range(18):
        part = comm.split(0)
        try:
            part.barrier()  # an end may surprise a rank that is still in split
            request = part.allreduce(np.ones(100000), wait=False)
        except gradwire.Error as error:  # the peer has lost its communicator already
            assert error.code == "GW_ECLOSED", error
            continue
        if turn % 3 == 0:
            request.cycle = [request, part]
        if turn % 3 == 1:
            del part
        del request
        part = None
        gc.collect()
    request = comm.split(0).allreduce(np.ones(10), wait=False)  # keeps its communicator
    gc.collect()
    assert request.wait()[0] == size


def dropped():
    """Messages whose requests nobody keeps arrive, and leave nothing."""
    peer, got = 1 - comm.rank, np.empty(64)
    for turn in range(2000):
        comm.send(np.full(64, turn, "f8"), peer, wait=False)
        assert comm.recv(got, peer)[0] == turn
    comm.barrier()
    assert len(comm._dropped) < 10


def pending_at_exit():
    """Rank 0 ends while its call is in progress; the others learn of it."""
    part = comm.split(0)
    if comm.rank == 0:
        comm.barrier()
        comm.allreduce(np.ones(9), wait=False)

        def receive():
            raised(ValueError, lambda: part.recv(np.ones(3), 1), "is closed")
        threading.Thread(target=receive, daemon=True).start()
        return
    # The end of rank 0 may overtake its messages.
    error = raised(gradwire.Error, lambda: [comm.barrier(), comm.allreduce(np.ones(9)),
                                            comm.barrier()], "rank 0")
    assert error.code in ("GW_ECLOSED", "GW_ELOST"), error


def closed():
    request = comm.allreduce(np.ones(10), wait=False)
    part, steady = comm.split(0), comm.split(0)
    request.wait()
    comm.close()
    assert part.allreduce(np.ones(1))[0] == size  # a split outlives its parent
    steady.barrier()  # an end with a call in progress fails the calls of others
    late = part.allreduce(np.ones(10), wait=False)
    part.close()
    raised(ValueError, late.wait, "closed")
    raised(ValueError, late.test, "closed")
    raised(ValueError, comm.barrier, "closed")
    assert request.wait()[0] == size


def empty_arrays():
    """Zero elements, one rank in place, and the empty blocks of some ranks."""
    none = np.empty((0, 3), "f4")
    rows = np.empty((size, 0), "i8")
    assert comm.allreduce(none).shape == (0, 3) and comm.broadcast(none) is none
    assert comm.allgather(none).shape == (size, 0, 3)
    assert comm.alltoall(rows).shape == (size, 0) and comm.reduce_scatter(rows).shape == (0,)
    assert comm.scatter(rows if comm.rank == 0 else None, out=np.empty(0, "i8")).shape == (0,)
    gathered, reduced = comm.gather(none), comm.reduce(none)
    assert comm.rank or (gathered.shape == (size, 0, 3) and reduced.shape == (0, 3))
    nothing = [0] * size
    assert comm.allgatherv(none, nothing).shape == (0,)
    assert comm.alltoallv(none, nothing, nothing).shape == (0,)
    one = np.full(1000, comm.rank, "i4")
    comm.allreduce(one, out=one if comm.rank == 0 else None)
    assert comm.rank or one[0] == sum(range(size))
    if comm.rank == 0:
        comm.send(none, 1)
    if comm.rank == 1:
        comm.recv(none, 0)


def differing():
    """Other counts or types than the peer's: an error on all ranks, which names a rank."""
    for mine in (np.ones(3 + comm.rank), np.ones(4, "f4" if comm.rank else "i4")):
        part = comm.split(0)
        error = raised(gradwire.Error, lambda: [part.allreduce(mine), part.barrier()], "rank")
        assert error.code == "GW_EMISMATCH", error
        raised(gradwire.Error, part.barrier)


def wrong_plan():
    """An algorithm that is not for that number of ranks, called by rank 0 alone, fails on
    all: they would wait for it in vain."""
    text = f"allreduce ranks={size} chunks=1\nstep 0>1 c0 +\n"  # a sum that does not arrive
    plan = gradwire.Plan.from_text(text)
    assert not plan.verify()
    part = comm.split(0)
    algo = plan if comm.rank == 0 else None
    error = raised(gradwire.Error, lambda: [part.barrier(), part.allreduce(np.ones(3), algo=algo)],
                   "rank 0")
    assert error.code == "GW_EPLAN", error


def twice():
    """A second init replaces the default communicator."""
    again = gradwire.init()
    raised(ValueError, comm.barrier, "closed")
    assert gradwire.comm() is again and gradwire.allreduce(np.ones(1))[0] == size


class Impatience(ValueError):
    pass


def handlers():
    """An exception of any class from a signal handler, in each way to wait."""
    def impatient(*_):
        raise Impatience
    signal.signal(signal.SIGUSR1, impatient)
    def sum_up(part):
        part.allreduce(np.ones(100))

    def sum_by_ring(part):
        part.allreduce(np.ones(100000), algo="ring")

    def request(part):
        part.barrier(wait=False).wait()

    def message(part):
        if comm.rank == 1:
            part.recv(np.ones(3), 0)
        part.send(np.ones(3), 1)

    def split(part):
        part.split(0)
    for way in (sum_up, sum_by_ring, request, message, split):
        part = comm.split(0)
        part.barrier()
        if comm.rank == 1:
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1)).start()
            begin = time.monotonic()
            raised(Impatience, lambda: way(part))
            assert time.monotonic() - begin < 5
            comm.barrier()
        else:
            comm.barrier()  # rank 1 is interrupted before this rank calls
            # A call may still succeed here, with the data that rank 1 has sent.
            error = raised(gradwire.Error, lambda: [way(part), part.barrier()],
                           "rank 1 was interrupted by Impatience")
            assert error.code == "GW_EINTR", error


def waits():
    """test() and wait(timeout) of one request by several threads."""
    if comm.rank == 0:
        request = comm.recv(np.empty(5), 1, wait=False)
        raised(TimeoutError, lambda: request.wait(0), "recv")
        raised(TimeoutError, lambda: request.wait(0.01))
        assert not request.test()
        results = []
        waiting = [threading.Thread(target=lambda: results.append(request.wait()[0]))
                   for _ in range(3)]
        for thread in waiting:
            thread.start()
        comm.send(np.zeros(1), 1)
        for thread in waiting:
            thread.join()
        assert results == [4.0] * 3 and request.test() and request.wait()[0] == 4
    else:
        comm.recv(np.empty(1), 0)
        comm.send(np.full(5, 4.0), 0)


what = sys.argv[1]
comm = gradwire.init(timeout=60)
size = comm.size
globals()[what]()
print("ok\n", end="", flush=True)
