# SPDX-License-Identifier: MIT
"""Every way to start ranks: gradwire.init() finds its rank in the environment of the
launcher, or in its arguments."""

import importlib.util
import os
import shutil
import subprocess
import sys

import pytest
from conftest import HERE, ROOT, free_port, ranks, start

HELLO = HERE / "programs" / "hello.py"
BOTH = ["rank 0 of 2: 1", "rank 1 of 2: 1"]


def by_hand(environments, arguments=((), ())):
    """The lines of one process per environment."""
    processes = [start(sys.executable, HELLO, *operands, env={**os.environ, **env})
                 for env, operands in zip(environments, arguments)]
    return sorted(line for process in processes
                  for line in process.communicate(timeout=600)[0].splitlines())


def test_collrun_exec():
    assert sorted(ranks(2, "hello").splitlines()) == BOTH


@pytest.mark.parametrize("launcher", ["mpirun.openmpi --allow-run-as-root --oversubscribe",
                                      "mpirun.mpich"])
def test_mpirun(launcher, tmp_path):
    command, *options = launcher.split()
    if not shutil.which(command):
        pytest.skip(f"{command} is not installed")
    done = subprocess.run([command, *options, "-n", "2", sys.executable, HELLO], text=True,
                          stdout=subprocess.PIPE, timeout=600,
                          env={**os.environ, "TMPDIR": str(tmp_path)})
    assert sorted(done.stdout.splitlines()) == BOTH


def test_sruns_environment():
    shared = {"SLURM_JOB_ID": str(os.getpid()), "SLURM_STEP_ID": "0",
              "SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_NUM_NODES": "1"}
    assert by_hand([{**shared, "SLURM_PROCID": r, "SLURM_LOCALID": r} for r in "01"]) == BOTH


def test_torchruns_environment():
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port(),
              "LOCAL_WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "x",
              "TORCHELASTIC_RESTART_COUNT": "0"}
    assert by_hand([{**shared, "RANK": r, "LOCAL_RANK": r} for r in "01"]) == BOTH


def test_rank_size_and_rendezvous():
    where = f"ipc://@gradwire-test-{os.getpid()}"
    assert by_hand([{}, {}], [(r, "2", where) for r in "01"]) == BOTH


def test_without_a_launcher_there_is_one_rank():
    assert by_hand([{}]) == ["rank 0 of 1: 0"]


def test_pip_installs_it_without_a_build(tmp_path):
    """pyproject.toml alone, with no compiler and no network."""
    if not all(importlib.util.find_spec(name) for name in ("pip", "setuptools", "wheel")):
        pytest.skip("pip, setuptools and wheel are not installed")
    copy = shutil.copytree(ROOT / "lib/python", tmp_path / "source")
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index",
                    "--no-build-isolation", "--target", tmp_path / "there", copy], check=True,
                   env={**os.environ, "PIP_ROOT_USER_ACTION": "ignore"})
    installed = {path.name for path in (tmp_path / "there/gradwire").iterdir()}
    assert {path.name for path in (ROOT / "lib/python/gradwire").glob("*.py")} <= installed
    assert "py.typed" in installed
    done = subprocess.run([sys.executable, "-c", "import gradwire; print(gradwire.__file__)"],
                          env={**os.environ, "PYTHONPATH": str(tmp_path / "there")}, text=True,
                          stdout=subprocess.PIPE, check=True)
    assert done.stdout.startswith(str(tmp_path))
