# SPDX-License-Identifier: MIT
"""The transformer of the labs under fire: 50 times in 10 minutes one of four processes is
killed with kill -9, at a random moment, and another one joins.

    python3 tests/torch/elastic.py [--minutes 10] [--kills 50] [--seed 1] [--members 4]

Each process keeps a log of its steps. From the logs this program shows

    agreement    all members that have seen a step have the same loss and samples of it
    samples      each one counts once per data epoch
    resumption   the time that each recovery of the ring took, and the time from each kill
                 to the end of the next step without the dead process
    curve        the mean loss of each data epoch, next to that of a run without kills. A
                 death makes the steps until the next join smaller, so that there are more
                 of them per epoch; the curves are close, and not equal.

It is not part of `make check`, for it takes as long as it is told. The status is 1 if one
of these is wrong; each recovery has a bound of 1 s.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("B", "build")
TRAIN = ROOT / "labs/programs/transformer.py"
LETTERS, CONTEXT = 60000, 32
OPTIONS = ["--letters", str(LETTERS), "--context", str(CONTEXT), "--batch", "8", "--rate", "1e-3"]


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--members", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


class Run:
    """A ring of the program, as ringctl starts it."""

    def __init__(self, folder, members):
        self.folder = folder
        folder.mkdir()
        self.ringctl("up", str(members), "--name", folder.name, "exec", sys.executable, str(TRAIN),
                     *OPTIONS, "--epochs", "1000000", "--log", str(folder / "steps"))

    def ringctl(self, *words):
        done = subprocess.run([BUILD / "ringctl", *words], cwd=self.folder.parent, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**os.environ, "GRADWIRE_RUN": self.folder.name})
        if done.returncode:
            raise RuntimeError(f"{words[0]}: {done.stdout}{done.stderr}")
        return done.stdout

    def status(self):
        return json.loads(self.ringctl("status", "-o", "json"))

    def alive(self):
        return {node["node"]: node["pid"] for node in self.status()["nodes"]
                if node["role"] == "worker" and node["state"] == "alive"}

    def kill(self, draw):
        """Kills one of the members, unless it would be the last. Returns (time, node)."""
        alive = self.alive()
        if len(alive) < 2:
            return None
        node = draw.choice(sorted(alive))
        moment = time.monotonic()
        os.kill(alive[node], signal.SIGKILL)
        self.ringctl("add")
        return moment, node

    def end(self):
        status = self.status()
        self.ringctl("down")
        return status

    def steps(self):
        """The lines of all members, by step; those of one step must agree."""
        steps = {}
        for path in sorted(self.folder.glob("steps.*")):
            for text in path.read_text().splitlines():
                try:
                    line = json.loads(text)
                except ValueError:
                    continue  # the last words of a killed process
                first = steps.setdefault(line["step"], line)
                for name in ("loss", "used", "members"):
                    assert first[name] == line[name], (path.name, line, first)
                first["time"] = min(first["time"], line["time"])
        return [steps[step] for step in sorted(steps)]


def fire(run, minutes, kills, draw):
    """Kills at moments that are drawn beforehand."""
    begin = time.monotonic()
    moments = sorted(draw.uniform(0, minutes * 60) for _ in range(kills))
    killed = []
    for moment in moments:
        time.sleep(max(0, begin + moment - time.monotonic()))
        while (one := run.kill(draw)) is None:
            time.sleep(0.1)  # the joiners of the last kills are on their way
        killed.append(one)
        print(f"{one[0] - begin:7.2f} s: kill -9 of node {one[1]}", flush=True)
    time.sleep(max(0, begin + minutes * 60 - time.monotonic()))
    return killed


def epochs_of(steps):
    """The steps of each data epoch. The samples of one step are of one epoch."""
    size = (LETTERS - 1) // CONTEXT
    epochs, used = [[]], 0
    for step in steps:
        if used == size:
            epochs.append([])
            used = 0
        epochs[-1].append(step)
        used += len(step["used"])
    return size, epochs


def check_samples(steps):
    numbers = [step["step"] for step in steps]
    assert numbers == list(range(1, len(numbers) + 1)), "a step is in no log"
    size, epochs = epochs_of(steps)
    for number, epoch in enumerate(epochs):
        used = [i for step in epoch for i in step["used"]]
        assert len(set(used)) == len(used), f"epoch {number}: a sample counts twice"
        whole = number < len(epochs) - 1
        assert not whole or sorted(used) == list(range(size)), f"epoch {number}: one is lost"
    return len(epochs) - 1


def curve(steps):
    """The mean loss of the samples of each complete epoch."""
    return [sum(step["loss"] * len(step["used"]) for step in epoch)
            / sum(len(step["used"]) for step in epoch) for epoch in epochs_of(steps)[1][:-1]]


def resumptions(steps, killed):
    """Seconds from each kill to the next step that the dead process is not in."""
    times = []
    for moment, node in killed:
        after = (s["time"] for s in steps if s["time"] > moment and node not in s["members"])
        times.append(next(after) - moment)
    return times


def main():
    options = arguments()
    draw = random.Random(options.seed)
    print(f"seed {options.seed}: {options.kills} kills in {options.minutes} minutes")
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(GRADWIRE_LIBRARY=str(BUILD / "libgradwire.so"),
                          PYTHONPATH=str(ROOT / "lib/python"))
        calm = Run(Path(folder, "calm"), options.members)
        try:
            time.sleep(options.minutes * 60 / 3)
        finally:
            calm.end()
        run = Run(Path(folder, "fire"), options.members)
        try:
            killed = fire(run, options.minutes, options.kills, draw)
        finally:
            status = run.end()
        steps, undisturbed = run.steps(), calm.steps()
    complete = check_samples(steps)
    check_samples(undisturbed)
    times = sorted(resumptions(steps, killed))
    rings = sorted(r["resumed_ms"] / 1e3 for r in status["recoveries"] if r["resumed_ms"])
    pairs = list(zip(curve(steps), curve(undisturbed)))
    distances = [abs(a - b) for a, b in pairs]
    apart = sum(distances) / len(distances)
    print(f"{len(steps)} steps, {complete} complete epochs: each sample once; the supervisor "
          f"counts {status['lost']} lost, {status['doubled']} doubled")
    print(f"{len(rings)} recoveries: {rings[len(rings) // 2]:.3f} s in the median, "
          f"{rings[-1]:.3f} s at most; with the next step {times[len(times) // 2]:.3f} s and {times[-1]:.3f} s")
    print("loss per epoch, with kills and without: "
          + ", ".join(f"{a:.3f} {b:.3f}" for a, b in pairs[::max(1, len(pairs) // 12)]))
    print(f"{len(pairs)} epochs of both: {apart:.3f} apart in the mean, "
          f"{max(distances):.3f} at most")
    right = status["lost"] == status["doubled"] == 0 and rings[-1] < 1 and apart < 0.1
    print("right" if right else "WRONG")
    sys.exit(not right)


if __name__ == "__main__":
    main()
