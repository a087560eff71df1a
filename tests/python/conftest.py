# SPDX-License-Identifier: MIT
"""Programs as ranks of `collrun exec`. $B is the build folder."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / os.environ.get("B", "build")
for name in list(os.environ):
    if re.match("(GW|PMI|PMIX|OMPI|SLURM|MASTER)_", name) or name in ("RANK", "WORLD_SIZE"):
        del os.environ[name]
os.environ.pop("GRADWIRE_KEY", None)
os.environ["GRADWIRE_LIBRARY"] = str(BUILD / "libgradwire.so")
os.environ["PYTHONPATH"] = str(ROOT / "lib" / "python")
sys.path.insert(0, os.environ["PYTHONPATH"])


def start(*command, **options):
    return subprocess.Popen([str(word) for word in command], text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, **options)


def ranks(count, program, *arguments, **options):
    """The output of tests/python/programs/PROGRAM.py as that many ranks."""
    return ranks_of(count, HERE / "programs" / (program + ".py"), *arguments, **options)


def ranks_of(count, path, *arguments, wire="shm", timeout=900):
    """The output of a program as that many ranks; it must end with status 0."""
    done = subprocess.run(
        [BUILD / "collrun", "exec", "-n", str(count), "--no-pin", "--wire", wire,
         sys.executable, path, *map(str, arguments)],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout)
    assert done.returncode == 0, done.stdout
    return done.stdout


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return str(s.getsockname()[1])


def ready(process):
    """The process, when it has said so; its output otherwise."""
    line = process.stdout.readline()
    if "is ready" in line:
        return process
    raise RuntimeError(line + process.communicate()[0])


def controller(folder, *options):
    """A controller, and its address for GW_CONTROLLERS."""
    for _ in range(5):  # another process may take the port
        where = f"tcp://127.0.0.1:{free_port()}"
        process = start(BUILD / "psnode", "controller", "--index", "0", "--dir", folder, *options,
                        env={**os.environ, "GW_CONTROLLERS": where})
        try:
            return ready(process), where
        except RuntimeError as error:
            failure = error
    raise failure


@pytest.fixture(scope="session")
def comm():
    """A communicator of one rank in this process."""
    import gradwire
    with gradwire.Communicator(0, 1) as made:
        yield made
