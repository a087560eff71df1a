# SPDX-License-Identifier: MIT
"""The parameter server: in this process, and a cluster of processes by the environment."""

import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from conftest import BUILD, controller, ready, start

import gradwire


@pytest.fixture(scope="module")
def cluster():
    with gradwire.Cluster(servers=2, replicas=2) as made:
        yield made


def test_pushes_add_up(cluster):
    with gradwire.ParameterServer(cluster) as a, gradwire.ParameterServer(cluster) as b:
        rows = a.table("sums", width=3)
        again = b.table("sums", width=3)
        keys = np.array([3, 1 << 60, 7])
        values = np.arange(9, dtype="f4").reshape(3, 3)
        rows.push(keys, values)
        again.push(keys[:2], values[:2])
        expected = values * [[2], [2], [1]]
        assert (rows.pull(keys) == expected).all()
        out = np.empty((3, 3), "f4")
        assert again.pull(keys[::-1], out) is out and (out == expected[::-1]).all()
        assert (rows.push_pull([7], values[2:]) == 2 * values[2]).all()
        assert not rows.pull([99]).any()


def test_updaters_and_dense_tables(cluster):
    with gradwire.ParameterServer(cluster) as server:
        table = server.table("dense", width=2, updater="sgd", rate=0.5, rows=10)
        table.push(range(10), np.ones((10, 2), "f4"))
        assert (table.pull(range(10)) == -0.5).all()
        with pytest.raises(gradwire.Error) as error:
            server.table("dense", width=5, updater="sgd")
        assert error.value.code == "GW_EMISMATCH"


def test_work_items_count_once(cluster):
    with gradwire.ParameterServer(cluster) as server:
        total = server.table("work", group=1)
        server.plan(epochs=2, batches=5, parts=3, mode="ssp:1", group=1)
        items = []
        for work in server.work(group=1):
            items.append((work.epoch, work.batch, work.part))
            total.push([0], np.ones((1, 1), "f4"))
            server.report(1.0, 1, group=1)
        assert len(set(items)) == len(items) == 30
        assert total.pull([0])[0, 0] == 30


def test_a_dead_server_loses_nothing():
    with gradwire.Cluster(servers=3, replicas=2) as cluster:
        with gradwire.ParameterServer(cluster) as server:
            table = server.table("t")
            keys = np.arange(100)
            for _ in range(3):
                table.push(keys, np.ones((100, 1), "f4"))
            cluster.kill(1)
            for _ in range(2):
                table.push(keys, np.ones((100, 1), "f4"))
            assert (table.pull(keys) == 5).all()


@pytest.mark.parametrize("kind, sentence, call", [
    (TypeError, "values: it must be a numpy.ndarray of float32", lambda t: t.push([1], np.ones((1, 3)))),
    (ValueError, "values: its shape is", lambda t: t.push([1, 2], np.ones((1, 3), "f4"))),
    (ValueError, "values: the array is not C-contiguous", lambda t: t.push([1, 2, 3], np.ones((3, 3), "f4").T[:, :])),
    (TypeError, "keys: 1.5 is not an integer", lambda t: t.pull([1.5])),
    (TypeError, "keys: float64 is not an integer type", lambda t: t.pull(np.ones(2))),
    (ValueError, "keys: -3 is not in", lambda t: t.push([-3], np.ones((1, 3), "f4"))),
])
def test_bad_arguments_are_named(cluster, kind, sentence, call):
    with gradwire.ParameterServer(cluster) as server:
        table = server.table("bad", width=3)
        with pytest.raises(kind) as error:
            call(table)
        assert str(error.value).startswith(sentence)


def test_keys_of_64_bits_and_none_at_all(cluster):
    with gradwire.ParameterServer(cluster) as server:
        table = server.table("wide-keys")
        table.push([2**64 - 1, 1], np.ones((2, 1), "f4"))
        assert (table.pull([2**64 - 1, 1, 5])[:, 0] == [1, 1, 0]).all()
        assert table.pull([]).shape == (0, 1)
        table.push([], np.ones((0, 1), "f4"))
        with pytest.raises(ValueError, match="^name: 'a b' is not"):
            server.table("a b")
        with pytest.raises(gradwire.Error, match="group"):
            server.table("late", group=99)
        with pytest.raises(ValueError, match="^width: 0 "):
            server.table("none", width=0)
        with pytest.raises(ValueError, match="^updater: 'adamw' is not one of add"):
            server.table("none", updater="adamw")


def test_a_cluster_closes_its_clients():
    with gradwire.Cluster() as made:
        server = gradwire.ParameterServer(made)
        table = server.table("short")
        table.push([1], np.ones((1, 1), "f4"))
        with pytest.raises(ValueError, match="^number: 1 is not in 0 to 0"):
            made.kill(1)
    for use in (lambda: table.pull([1]), lambda: gradwire.ParameterServer(made), made.add):
        with pytest.raises(ValueError, match="is closed"):
            use()


def test_a_nan_is_refused(cluster):
    with gradwire.ParameterServer(cluster) as server:
        table = server.table("nan")
        with pytest.raises(gradwire.Error) as error:
            table.push([1], np.full((1, 1), np.nan, "f4"))
        assert error.value.code == "GW_ENUMERIC"
        assert table.pull([1])[0, 0] == 0


def test_the_environment_names_a_cluster(tmp_path, monkeypatch):
    process, where = controller(tmp_path / "log")
    monkeypatch.setenv("GW_CONTROLLERS", where)
    processes = [process]
    try:
        processes.append(start(BUILD / "psnode", "server"))
        ready(processes[1])
        with gradwire.ParameterServer(connect_timeout=300) as server:
            table = server.table("far", width=4)
            table.push([5], np.ones((1, 4), "f4"))
            assert (table.pull([5]) == 1).all()
    finally:
        for process in processes[::-1]:
            process.kill()
            process.communicate()


def test_threads_share_a_client(cluster):
    with gradwire.ParameterServer(cluster) as server:
        table = server.table("threads")

        def work(key):
            for _ in range(50):
                table.push([key], np.ones((1, 1), "f4"))
        workers = [threading.Thread(target=work, args=(key,)) for key in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert (table.pull(range(4)) == 50).all()


def test_close_ends_the_call_of_another_thread(cluster):
    server, seen = gradwire.ParameterServer(cluster), []

    def wait():
        try:
            server.barrier(77, 2)  # no other client comes
        except gradwire.Error as error:
            seen.append(error.code)
    waiting = threading.Thread(target=wait)
    waiting.start()
    while server._lock._lock.acquire(blocking=False):  # until the thread is in its call
        server._lock._lock.release()
        time.sleep(0.001)
    server.close()
    waiting.join()
    assert seen == ["GW_EINTR"]


PROGRAMS = {
    "exit": """
cluster = gradwire.Cluster(servers=2, replicas=2)
server = gradwire.ParameterServer(cluster)
server.table("t").push([1], np.ones((1, 1), "f4"))
print("ok", flush=True)
""",
    "collector": """
def make():
    return gradwire.ParameterServer(gradwire.Cluster()).table("t")
table = make()
gc.collect()
table.push([1], np.ones((1, 1), "f4"))
assert table.pull([1]) == 1
del table
cluster = gradwire.Cluster()
server = gradwire.ParameterServer(cluster)
server.cycle = server, cluster
del server, cluster
gc.collect()
print("ok", flush=True)
""",
    "fork": """
cluster = gradwire.Cluster()
server = gradwire.ParameterServer(cluster)
table = server.table("t")
table.push([1], np.ones((1, 1), "f4"))
pid = os.fork()
if pid == 0:
    try:
        table.pull([1])
    except ValueError as error:
        assert "belongs to the parent process" in str(error)
    with gradwire.Cluster() as own, gradwire.ParameterServer(own) as client:
        client.table("u").push([1], np.ones((1, 1), "f4"))
    sys.exit(3)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
assert table.pull([1]) == 1
print("ok", flush=True)
""",
    "interrupt": """
cluster = gradwire.Cluster()
server = gradwire.ParameterServer(cluster)
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    server.barrier(5, 2)
except KeyboardInterrupt:
    pass
with gradwire.ParameterServer(cluster) as another:
    another.table("t").push([1], np.ones((1, 1), "f4"))
print("ok", flush=True)
""",
}


@pytest.mark.parametrize("what", PROGRAMS)
def test_ends(what):
    program = "import gc, os, signal, sys, threading\nimport numpy as np, gradwire\n"
    done = subprocess.run([sys.executable, "-c", program + PROGRAMS[what]], text=True, timeout=300,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert (done.stdout, done.returncode) == ("ok\n", 0)
