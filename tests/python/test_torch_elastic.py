# SPDX-License-Identifier: MIT
"""gradwire.torch.Elastic: members that are killed, leave and join; each sample counts once;
the state has all that a joiner needs."""

import json
import os
import re
import signal
import subprocess
import sys

import conftest
import pytest
from conftest import BUILD, HERE, start

torch = pytest.importorskip("torch", reason="python3-torch is not installed")
from torch import nn  # noqa: E402

import gradwire.torch  # noqa: E402
from gradwire.torch._training_state import TrainingState  # noqa: E402

MEMBER = HERE / "programs" / "elastic_member.py"
SAMPLES = 203


def lines(out):
    """The lines of JSON of a member, and its last one."""
    found = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    assert found and "done" in found[-1], out
    return found[:-1], found[-1]


def check(outs, epochs):
    """All members agree about each step that they have seen, and each sample is used once
    per epoch."""
    steps = {}
    for out in outs:
        seen, last = lines(out)
        assert (last["lost"], last["doubled"]) == (0, 0), last
        for line in seen:
            assert steps.setdefault(line["step"], line) == line
    assert sorted(steps) == list(range(1, len(steps) + 1))
    used = [i for step in sorted(steps) for i in steps[step]["used"]]
    for epoch in range(epochs):
        part = used[epoch * SAMPLES:(epoch + 1) * SAMPLES]
        assert sorted(part) == list(range(SAMPLES)), f"epoch {epoch}"
    assert len(used) == epochs * SAMPLES
    assert len({json.dumps(lines(out)[1]["digest"]) for out in outs}) == 1
    return steps


@pytest.fixture
def controller(tmp_path, monkeypatch):
    process, where = conftest.controller(tmp_path / "log", "--ring", 3)
    monkeypatch.setenv("GW_CONTROLLERS", where)
    yield
    process.kill()
    process.communicate()


def test_a_killed_member_is_missed_and_a_joiner_continues(controller, tmp_path, monkeypatch):
    monkeypatch.setenv("GW_MIN_SIZE", "3")
    monkeypatch.setenv("GW_MAX_SIZE", "8")
    members = [start(sys.executable, MEMBER, 4, tmp_path) for _ in range(3)]
    first = members[0].stdout.readline()  # so all have joined, and wait in step 3
    assert first.startswith("{"), first + members[0].communicate()[0]
    members[1].send_signal(signal.SIGKILL)
    members[1].communicate()
    (tmp_path / "gate").touch()
    joiner = start(sys.executable, MEMBER, 4, tmp_path)
    outs = [one.communicate(timeout=600)[0] for one in (members[0], members[2], joiner)]
    steps = check([first + outs[0], *outs[1:]], 4)
    sizes = [len(steps[step]["members"]) for step in sorted(steps)]
    assert 2 in sizes and sizes[-20:].count(3) >= 15
    assert lines(outs[2])[0][0]["step"] > 3  # the joiner has not begun again


def test_after_sigterm_a_member_leaves_and_its_work_counts(controller, tmp_path):
    (tmp_path / "gate").touch()
    members = [start(sys.executable, MEMBER, 6, tmp_path) for _ in range(3)]
    first = members[0].stdout.readline()
    members[0].terminate()
    outs = [one.communicate(timeout=600)[0] for one in members]
    assert members[0].returncode == 0, outs[0]
    assert lines(outs[0])[1]["done"] <= 6
    steps = check(outs[1:], 6)
    assert len(steps[1]["members"]) == 3 and len(steps[max(steps)]["members"]) <= 2, first


def test_break_leaves_in_order(controller, tmp_path):
    (tmp_path / "gate").touch()
    members = [start(sys.executable, MEMBER, 9, tmp_path, last) for last in (5, 9, 9)]
    outs = [one.communicate(timeout=600)[0] for one in members]
    assert all(one.returncode == 0 for one in members), outs
    steps = {line["step"]: line["members"] for out in outs for line in lines(out)[0]}
    assert [len(steps[step]) for step in (1, 5, 9)] == [3, 3, 2]


def test_ringctl_starts_kills_adds_and_watches_it(tmp_path):
    (tmp_path / "gate").touch()
    commands = (f"up 3 exec {sys.executable} {MEMBER} 12 {tmp_path}; slow 0 100ms; "
                "wait step>=10; kill 1; wait alive==2; add; wait alive==3; slow 0 0s; "
                "wait done; expect lost==0 && doubled==0; status")
    done = subprocess.run(
        [BUILD / "ringctl", "--timeout", "200s", "-c", commands],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, timeout=600)
    log = next((tmp_path / "runs").glob("[a-z]*/log")).read_text()
    assert done.returncode == 0, done.stdout + done.stderr + log
    assert "node 1 (exit)" in done.stdout, done.stdout
    assert log.count('"done": 12, "lost": 0, "doubled": 0') == 3, log


def test_torchrun_starts_it(controller, tmp_path):
    (tmp_path / "gate").touch()
    shown = ("-r", "1", "-t", "1", "--log_dir", tmp_path)  # torchrun 1.13 needs them in 3.11
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "3",
         *shown, MEMBER, "2", tmp_path], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('"done": 2, "lost": 0, "doubled": 0') == 3, done.stdout


def network():
    torch.manual_seed(5)
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))


DATA = torch.randn(32, 4, generator=torch.Generator().manual_seed(2)), torch.ones(32, 1)
OPTIMISERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
    "adam": lambda p: torch.optim.AdamW(p, lr=0.01, amsgrad=True),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.01, momentum=0.5),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1),
    "nadam": lambda p: torch.optim.NAdam(p, lr=0.01),
    "rprop": lambda p: torch.optim.Rprop(p, lr=0.01),
}


def one_step(model, optimizer, scheduler):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(DATA[0]), DATA[1]).backward()
    optimizer.step()
    scheduler.step()


@pytest.mark.parametrize("name", OPTIMISERS)
def test_alone_it_is_the_plain_loop_bit_by_bit(name, monkeypatch):
    monkeypatch.delenv("GW_CONTROLLERS", raising=False)
    plain, model = network(), network()
    optimizer, mine = OPTIMISERS[name](plain.parameters()), OPTIMISERS[name](model.parameters())
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    training = gradwire.torch.Elastic(
        model, mine, DATA, batch=32, epochs=5, seed=None,
        scheduler=torch.optim.lr_scheduler.ExponentialLR(mine, 0.9))
    for inputs, targets in training:
        training.step(nn.functional.mse_loss(model(inputs), targets))
    for _ in range(5):
        one_step(plain, optimizer, scheduler)
    assert training.steps == 5 and training.samples == 160
    assert all(map(torch.equal, plain.parameters(), model.parameters()))


@pytest.mark.parametrize("name", OPTIMISERS)
def test_a_copy_of_the_memory_is_all_that_a_joiner_needs(name):
    made = []
    for _ in range(2):
        model = network()
        optimizer = OPTIMISERS[name](model.parameters())
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)
        made.append((model, optimizer, scheduler, TrainingState(model, optimizer, scheduler, 7)))
    (*first, state), (*second, copy) = made
    for steps in range(3):
        one_step(*first)
        state.head["steps"] = steps + 1
        state.collect()
    copy.memory[:] = state.memory
    copy.restore()
    for _ in range(3):
        one_step(*first)
        one_step(*second)
    for a, b in zip(first[0].parameters(), second[0].parameters()):
        assert torch.equal(a, b)
    assert first[1].param_groups[0]["lr"] == second[1].param_groups[0]["lr"]


def test_errors_name_what_is_wrong(monkeypatch):
    monkeypatch.delenv("GW_CONTROLLERS", raising=False)
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(ValueError, match="^data: "):
        gradwire.torch.Elastic(model, optimizer, torch.empty(0))
    training = gradwire.torch.Elastic(model, optimizer, DATA)
    with pytest.raises(RuntimeError, match="step: there is no batch"):
        training.step(torch.zeros(()))
    with pytest.raises(RuntimeError, match="call step"):
        for _ in training:
            pass
    mixed = nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1).double())
    with pytest.raises(ValueError, match="one type.*torch.float32, torch.float64"):
        gradwire.torch.Elastic(mixed, torch.optim.SGD(mixed.parameters(), lr=1), DATA)


def test_the_programs_of_readme_and_of_the_manual_page_run(tmp_path, monkeypatch):
    monkeypatch.delenv("GW_CONTROLLERS", raising=False)
    readme = (conftest.ROOT / "README.md").read_text()
    page = (conftest.ROOT / "man/gradwire-python.3").read_text()
    programs = [*re.findall(r"```python\n(import torch.*?)```", readme, re.S),
                *re.findall(r"\.Bd -literal\n(from torch .*?)\.Ed", page, re.S)]
    assert len(programs) == 2 and len(programs[0].splitlines()) == 9
    for program in programs:
        (tmp_path / "train.py").write_text(program)
        done = subprocess.run([sys.executable, tmp_path / "train.py"], text=True, timeout=300,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert done.returncode == 0 and float(done.stdout.split()[-1]) < 10, done.stdout
