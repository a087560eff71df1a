# SPDX-License-Identifier: MIT
"""Ranks that die, close, call something else, are late or interrupted: the errors of
all; and what calls leave behind."""

import json
import subprocess
import sys

import pytest
from conftest import BUILD, HERE, ranks


def errors(way, wire="shm"):
    """What each rank but a killed one has seen, by rank."""
    done = subprocess.run(
        [BUILD / "collrun", "exec", "-n", "3", "--no-pin", "--wire", wire, sys.executable,
         HERE / "programs" / "failing.py", way],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600)
    seen = [json.loads(line) for line in done.stdout.splitlines()]
    assert seen, done.stderr
    return {one["me"]: one for one in seen}


@pytest.mark.parametrize("wire", ["shm", "tcp"])
@pytest.mark.parametrize("way", ["interrupt", "interrupt-request", "interrupt-recv"])
def test_ctrl_c_is_keyboard_interrupt_here_and_an_error_there(way, wire):
    seen = errors(way, wire)
    assert seen[1]["code"] == "KeyboardInterrupt"
    assert seen[1]["seconds"] < 1.3  # 0.3 s before it, 1 s allowed
    for other in (0, 2):
        assert (seen[other]["code"], seen[other]["rank"]) == ("GW_EINTR", 1)
        assert "was interrupted by KeyboardInterrupt" in seen[other]["text"]


@pytest.mark.parametrize("wire", ["shm", "ipc", "tcp"])
def test_a_killed_rank_is_named_by_all(wire):
    seen = errors("dies", wire)
    assert sorted(seen) == [0, 2]
    assert all(one["code"] == "GW_ELOST" and "rank 1" in one["text"] for one in seen.values())
    assert all(one["peer"] == 1 and one["rank"] in (0, 2) for one in seen.values()), seen
    first = min(seen.values(), key=lambda one: one["seconds"])
    assert first["call"] in ("allreduce", "barrier") and first["op"] > 0


def test_a_closed_rank_is_named_by_all():
    seen = errors("closes")
    assert all(one["code"] == "GW_ECLOSED" and one["peer"] == 1 for one in seen.values()), seen


def test_a_mismatch_names_both_calls_on_all_ranks():
    seen = errors("mismatch")
    assert sorted(seen) == [0, 1, 2]
    for one in seen.values():
        assert one["code"] == "GW_EMISMATCH" and 1 in (one["rank"], one["peer"])
        assert "broadcast" in one["text"] and "allreduce" in one["text"]


def test_a_late_rank_is_a_timeout_that_names_it():
    seen = errors("late")
    assert seen[0]["code"] == "GW_ETIMEOUT" and "rank 1" in seen[0]["text"]


def test_ten_thousand_calls_leave_no_memory():
    assert ranks(2, "leak") == "ok\nok\n"


INIT = """
import os, signal, threading, time, gradwire
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
begin = time.monotonic()
try:
    gradwire.init(0, 2, "ipc://@gradwire-alone-%d" % os.getpid(), connect_timeout=30)
except KeyboardInterrupt:
    print(time.monotonic() - begin < 1.5)
"""


def test_ctrl_c_ends_init():
    done = subprocess.run([sys.executable, "-c", INIT], text=True, timeout=600,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.stdout == "True\n"


FEW = """
import os, gradwire
try:
    gradwire.init(0, 3, f"ipc://@gradwire-few-{os.getpid()}", connect_timeout=0.5)
except gradwire.Error as error:
    print(error.code, error)
"""


def test_missing_ranks_are_named():
    done = subprocess.run([sys.executable, "-c", FEW], text=True, timeout=600,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert "ranks 1" in done.stdout or "rank 1" in done.stdout, done.stdout
