# SPDX-License-Identifier: MIT
"""Programs of torch.distributed that `collrun exec` starts, without MASTER_ADDR."""

import os
import subprocess
import sys

import pytest

from conftest import BUILD, ROOT

PROGRAM = """
import sys, torch, gradwire.torch
from torch import distributed
gradwire.torch.init_process_group(sys.argv[1], timeout=30)
vector = torch.full((1000,), float(distributed.get_rank() + 1))
distributed.all_reduce(vector)
if distributed.get_rank() == 0:
    print(distributed.get_backend(), distributed.get_world_size(), vector.unique().tolist())
"""


def run(*command, **environment):
    names = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    inherited = {name: value for name, value in os.environ.items() if name not in names}
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120, env={
        **inherited, "PYTHONPATH": str(ROOT / "lib" / "python"), **environment}).stdout


@pytest.mark.parametrize("backend", ["gradwire", "gloo"])
def test_ranks_of_collrun_exec_find_each_other(tmp_path, backend):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    assert run(sys.executable, program, backend) == f"{backend} 1 [1.0]\n"
    found = run(BUILD / "collrun", "exec", "-n", "3", sys.executable, program, backend)
    assert found == f"{backend} 3 [6.0]\n"


def test_the_transformer_is_reproducible():
    program = [sys.executable, ROOT / "labs" / "programs" / "transformer.py", "--reproducible",
               "--steps", "5"]
    launcher = [BUILD / "collrun", "exec", "-n"]
    outputs = [run(*program), run(*launcher, "2", *program), run(*launcher, "3", *program),
               run(*launcher, "4", *program, GW_WIRE="tcp")]
    digests = {output.split()[-1] for output in outputs}
    assert len(digests) == 1, outputs
