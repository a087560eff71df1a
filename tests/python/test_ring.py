# SPDX-License-Identifier: MIT
"""The elastic ring: members that are killed and that join, and errors of `apply`."""

import os
import signal
import sys

import conftest
import numpy as np
import pytest
from conftest import HERE, start

import gradwire


@pytest.fixture
def controller(tmp_path, monkeypatch):
    """Starts the controller of a ring of that many members."""
    started = []

    def begin(members):
        process, where = conftest.controller(tmp_path / "log", "--ring", members)
        started.append(process)
        monkeypatch.setenv("GW_CONTROLLERS", where)

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def member(gate):
    return start(sys.executable, HERE / "programs" / "member.py", gate)


def test_a_killed_member_is_missed_and_a_joiner_counts(controller, tmp_path):
    controller(3)
    gate = tmp_path / "gate"
    members = [member(gate) for _ in range(3)]
    for one in members:
        line = one.stdout.readline()
        assert line.startswith("joined"), line + one.stdout.read()
    members[1].send_signal(signal.SIGKILL)
    members[1].communicate()
    gate.touch()
    joiner = member(gate)
    outs = [one.communicate(timeout=600)[0] for one in (members[0], members[2], joiner)]
    results = {out.splitlines()[-1] for out in outs}
    assert len(results) == 1, outs
    word, contributions, expected = results.pop().split()
    assert word == "done" and contributions == expected


def test_an_exception_of_apply_reaches_the_call(controller):
    controller(1)

    def apply(state, result):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        with gradwire.Ring(np.zeros(1), apply) as ring:
            assert ring.begin().members == (ring.node,)
            ring.allreduce(np.ones(4))


def test_apply_must_copy_what_it_keeps_and_not_call_its_ring(controller):
    controller(1)
    kept, refused = [], []

    def apply(state, result):
        if result.tag == 1:
            kept.append(result.data[1:])  # its memory ends with apply
        if result.tag == 2:
            try:
                ring.allreduce(np.ones(1))
            except RuntimeError as error:
                refused.append(str(error))
        state += result.data.sum()

    state = np.zeros(1)
    ring = gradwire.Ring(state, apply)
    ring.begin()
    ring.allreduce(np.ones(4))
    ring.begin()
    with pytest.raises(RuntimeError, match="^apply: it keeps result.data"):
        ring.allreduce(np.ones(4), tag=1)
    kept.clear()
    ring.begin()
    ring.allreduce(np.ones(4), tag=2)
    assert refused == ["apply: it cannot call its ring"] and state[0] == 12
    ring.leave()
    with pytest.raises(ValueError, match="the ring is closed"):
        ring.begin()


def test_ctrl_c_in_an_op_ends_this_member_alone(controller, tmp_path):
    controller(2)
    pair = [start(sys.executable, HERE / "programs" / "ring_interrupt.py", way, tmp_path / "gate")
            for way in ("interrupted", "late")]
    assert [one.communicate(timeout=600)[0] for one in pair] == ["interrupted\n", "alone 1\n"]


INTERRUPTED = """
import os, signal, threading, time, numpy, gradwire
threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    gradwire.Ring(numpy.zeros(1), lambda state, result: None)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_ends_joining(controller):
    controller(2)
    out = start(sys.executable, "-c", INTERRUPTED).communicate(timeout=600)[0]
    assert out == "interrupted\n"


def test_without_controllers_it_says_what_to_set():
    os.environ.pop("GW_CONTROLLERS", None)
    for make in (lambda: gradwire.Ring(np.zeros(1), None), gradwire.ParameterServer):
        with pytest.raises(gradwire.Error, match="GW_CONTROLLERS=tcp://") as error:
            make()
        assert error.value.code == "GW_EINVAL"


def result_of(members, contributors):
    return gradwire.RingResult(np.empty(0), 0, 1, contributors, members, 0)


def test_shards_of_the_dead_come_back():
    memory = np.zeros(gradwire.Shards.bytes(5), np.uint8)
    shards = gradwire.Shards(memory, 5)
    assert [shards.of(place) for place in range(6)] == [0, 1, 2, 3, 4, None]
    shards.complete(result_of((0, 1, 2), (0, 2)))
    assert shards.done == 2 and [shards.of(place) for place in range(3)] == [1, 3, 4]
    other = gradwire.Shards(memory.copy(), 5, fresh=False)  # a joiner's
    for one in shards, other:
        one.complete(result_of((0, 2, 3), (0, 2, 3)))
        assert (one.epoch, one.done, one.lost, one.doubled, one.count) == (1, 0, 0, 0, 5)


def test_shards_need_room_and_whole_numbers():
    with pytest.raises(ValueError, match="^memory: 8 bytes"):
        gradwire.Shards(bytearray(8), 5)
    with pytest.raises(ValueError, match="^count: 0 is not in 1"):
        gradwire.Shards(bytearray(100), 0)
    with pytest.raises(AttributeError):
        gradwire.Shards(np.zeros(64, np.uint8), 5).missing
