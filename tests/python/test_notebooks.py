# SPDX-License-Identifier: MIT
"""The notebooks in labs/notebooks: their form, and that their cells run."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT

NOTEBOOKS = sorted((ROOT / "labs/notebooks").glob("*.ipynb"))


def cells(path):
    return [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]


def test_they_are_kept_without_results():
    assert NOTEBOOKS
    for path in NOTEBOOKS:
        for cell in cells(path):
            assert cell["outputs"] == [] and cell["execution_count"] is None, path


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_their_cells_run(path, tmp_path):
    if not importlib.util.find_spec("matplotlib"):
        pytest.skip("python3-matplotlib is not installed")
    program = tmp_path / "cells.py"
    program.write_text("\n".join("".join(cell["source"]) for cell in cells(path)) +
                       "\nplt.savefig('drawn.png')\n")
    done = subprocess.run([sys.executable, program], cwd=tmp_path, text=True, timeout=600,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**os.environ, "MPLBACKEND": "Agg"})
    assert done.returncode == 0 and (tmp_path / "drawn.png").stat().st_size > 0, done.stdout


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_jupyter_executes_them(path, tmp_path):
    """From the folder of the source tree, without PYTHONPATH."""
    if not shutil.which("jupyter-nbconvert") or not importlib.util.find_spec("ipykernel"):
        pytest.skip("jupyter-nbconvert and python3-ipykernel are not installed")
    if not importlib.util.find_spec("matplotlib"):
        pytest.skip("python3-matplotlib is not installed")
    env = {name: value for name, value in os.environ.items()
           if name not in ("PYTHONPATH", "MPLBACKEND")}
    subprocess.run(["/usr/bin/python3", shutil.which("jupyter-nbconvert"), "--to", "notebook",
                    "--execute", "--ExecutePreprocessor.kernel_name=python3",
                    "--output-dir", tmp_path, path], check=True, timeout=600,
                   env={**env, "JUPYTER_CONFIG_DIR": str(tmp_path), "HOME": str(tmp_path)})
    outputs = [output for cell in cells(tmp_path / path.name) for output in cell["outputs"]]
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 3
