# SPDX-License-Identifier: MIT
"""The programs of README, of gradwire-python(3) and of the package's own help run."""

import re
import textwrap

import pytest
from conftest import ROOT, ranks_of

import gradwire


def programs():
    readme = (ROOT / "README.md").read_text()
    found = re.findall(r"```python\n(import gradwire.*?)```", readme, re.S)
    page = (ROOT / "man/gradwire-python.3").read_text()
    found += re.findall(r"\.Bd -literal\n(import .*?)\.Ed", page.split(".Sh EXAMPLES")[1], re.S)
    found.append(textwrap.dedent(gradwire.__doc__.split("\n\n")[1]))
    return found


def test_there_are_four_and_ten_lines_in_readme():
    found = programs()
    assert len(found) == 4 and len(found[0].splitlines()) == 10


@pytest.mark.parametrize("number", range(4))
def test_it_runs(number, tmp_path):
    program = tmp_path / "prog.py"
    program.write_text(programs()[number])
    out = ranks_of(2, program)
    assert number == 0 or out, out
    both = "rank 0 of 2 has 1\nrank 1 of 2 has 1\n"
    assert number != 1 or sorted(out) == sorted(both), out  # lines of ranks may mix
