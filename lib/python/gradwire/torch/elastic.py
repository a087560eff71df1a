# SPDX-License-Identifier: MIT
"""Data-parallel training that goes on when processes die and join.

    model = Net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    training = gradwire.torch.Elastic(model, optimizer, dataset, batch=16, epochs=3)
    for inputs, targets in training:
        loss = cross_entropy(model(inputs), targets)
        training.step(loss)
        print(training.steps, training.loss)

    $ ringctl up 4 exec python3 train.py
    $ ringctl kill 2
    $ ringctl add
    $ ringtop

The parameters, the optimiser and the position in the data are the replicated state of an
elastic ring (gradwire.Ring). A step is an all-reduce of the gradients. Its result, with
the set of its contributors, is applied by all members alike. So all have the same bits,
and a joiner copies those of any member. A batch is leased for one step. If its member
dies, the batch goes back to the pool and another member has it next. So each sample
counts once per epoch.
"""

import hashlib
import os
import signal
import threading
from typing import Any, Callable, Iterator, List, Optional, Tuple

import numpy as np
import torch

from .._arrays import empty
from .._errors import Error
from ..ring import Ring, RingResult, Turn
from ._training_state import TrainingState

_BEGIN, _STEP, _CHECK = 1, 2, 3  # tags of ops
_CHECK_STEPS = 64  # between comparisons of the states


class _Alone:
    """The ring of a process that no launcher has started: it has one member."""

    node = 0

    def __init__(self, state, apply):
        self._state, self._apply, self._op = state, apply, 0

    def begin(self):
        return Turn(self._op, 1, 0, (0,))

    def allreduce(self, array, op="sum", out=None, *, tag=0):
        result = RingResult(array, self._op, 1, (0,), (0,), tag)
        self._apply(self._state, result)
        self._op += 1
        return result

    def report(self, *_, **__):
        pass

    leave = close = report


def _is_alone():
    names = ("GW_CONTROLLERS", "GW_SUPERVISED")
    size = os.environ.get("GW_SIZE", os.environ.get("WORLD_SIZE", "1"))
    return size == "1" and not any(map(os.environ.get, names))


def _taker(data, collate):
    """A function from indices to a batch."""
    if isinstance(data, torch.utils.data.TensorDataset):
        data = data.tensors
    if isinstance(data, torch.Tensor):
        return lambda indices: data[indices]
    if isinstance(data, tuple) and all(isinstance(t, torch.Tensor) for t in data):
        return lambda indices: tuple(t[indices] for t in data)
    collate = collate or torch.utils.data.default_collate
    return lambda indices: collate([data[i] for i in indices.tolist()])


def _length(data):
    return len(data[0]) if isinstance(data, tuple) else len(data)


class Elastic:
    """A training whose members may die, hang, leave and join. It is the iterator of its
    batches: joining begins the iteration, and the end of the epochs ends it.

    Attributes, the same on all members after the same step:
        steps, epoch: steps and data epochs that are complete.
        samples: that have counted, in all epochs.
        loss: mean of the samples of the last step; NaN before the first.
        used: the samples of the last step, as indices of `data`.
        members: nodes whose gradients are in the last step.
        lost, doubled: samples that were not used in their epoch, or twice: 0.
    And of this member:
        node: its number. place: among the members of the present step.
        state_bytes: of the state, which a joiner copies.

    Args:
        model: all its parameters have one type, float32 or float64, and are on the CPU.
            Members may begin with different ones: those of the first member count.
        optimizer: any of torch.optim whose step needs no closure.
        data: a torch Dataset with a length, a tensor, or a tuple of tensors; the same on
            all members.
        batch: samples of one member in a step.
        epochs: of the data.
        seed: of the order of the samples, another one in each epoch; None: their own.
        scheduler: of the learning rate; its step follows each of the optimiser.
        collate: makes a batch of a list of samples; None: torch's default_collate.
        on_step: called with this object after each step. It must not change the model.
        min_size, max_size: bounds of the number of members; 0: none.
        patience: seconds to wait for members when they are too few; None: 10 minutes.
        wire, key_file: as of gradwire.Ring.
    Raises:
        Error: as gradwire.Ring. ValueError: the model or the data.

    `ringctl up 4 exec python3 train.py` starts four members; without a launcher the
    process trains alone. In a cluster, `psnode controller --ring 4` and GW_CONTROLLERS
    replace ringctl: gradwire-cluster(7). After SIGTERM a member leaves at the end of its
    step, and its iteration ends. A `break` leaves, too; an exception leaves as a death
    would.
    """

    def __init__(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer, data: Any, *,
                 batch: int = 32, epochs: int = 1, seed: Optional[int] = 0,
                 scheduler: Any = None, collate: Optional[Callable] = None,
                 on_step: Optional[Callable[["Elastic"], None]] = None, min_size: int = 0,
                 max_size: int = 0, patience: Optional[float] = None,
                 wire: Optional[str] = None, key_file: Any = None):
        if not _length(data):
            raise ValueError("data: it has no samples")
        self._length, self._take, self._on_step = _length(data), _taker(data, collate), on_step
        self._batch, self._epochs, self._seed = batch, epochs, seed
        self._options = dict(min_size=min_size, max_size=max_size, patience=patience, wire=wire,
                             key_file=key_file)
        self._state = TrainingState(model, optimizer, scheduler, -(-self._length // batch))
        self._initial = self._state.memory.copy()  # if all members die, the ring starts again
        self._optimizer, self._scheduler = optimizer, scheduler
        self._make_room()
        self._ring: Any = None
        self._turn: Any = None
        self._order: Tuple[Any, Any] = None, None
        self._leased: Optional[np.ndarray] = None  # the samples of the batch under way
        self._stopped = False
        self.used: List[int] = []
        self.members: Tuple[int, ...] = ()
        self.node = -1

    # ---- the iteration ----

    def __iter__(self) -> Iterator[Any]:
        with _Terminated(self._stop):
            self._join()
            try:
                while (batch := self._next()) is not None:
                    yield batch
                    if self._leased is not None:
                        raise RuntimeError("call step(loss) once for each batch")
            except GeneratorExit:  # break: in order, not like a death
                self._ring.leave()
                raise
            finally:
                self._ring.close()

    def step(self, loss: torch.Tensor) -> float:
        """Computes the gradients of a loss, the mean over the batch, and takes part in the
        step. Returns the mean over all samples of the step.

        If the others went on without this member, for it was silent for too long, it joins
        again, and the batch is another member's.
        """
        if self._leased is None:
            raise RuntimeError("step: there is no batch; take the next one first")
        count = len(self._leased)
        for p, gradient in zip(self._trained, self._my_gradients):
            p.grad = gradient
        self._mine.zero_()
        loss.backward()
        with torch.no_grad():
            for p, gradient in zip(self._trained, self._my_gradients):
                if p.grad is not None and p.grad is not gradient:
                    gradient.copy_(p.grad)  # zero_grad has dropped our tensor
            self._mine.mul_(count)
            for mine, change in zip(self._my_changes, self._state.buffer_changes()):
                mine.copy_(change.mul(count))
            self._mine[-2] = loss.detach() * count
            self._mine[-1] = count
        self._leased = None
        self._reduce(self._mine.numpy(), "sum", _STEP)
        return self.loss

    @property
    def steps(self) -> int:
        return int(self._state.head["steps"])

    @property
    def samples(self) -> int:
        return int(self._state.head["samples"])

    @property
    def loss(self) -> float:
        return float(self._state.head["loss"]) if self.steps else float("nan")

    @property
    def epoch(self) -> int:
        return self._state.shards.epoch

    @property
    def lost(self) -> int:
        return self._state.shards.lost * self._batch

    @property
    def doubled(self) -> int:
        return self._state.shards.doubled * self._batch

    @property
    def state_bytes(self) -> int:
        return len(self._state.memory)

    @property
    def place(self) -> int:
        return self._turn.place if self._turn else -1

    def _next(self):
        """The next batch of this member; None: the training is over, or it has left."""
        while not self._over():
            self._turn = self._begin()
            if self._turn is None:
                continue
            head, shards = self._state.head, self._state.shards
            if not head["begun"]:
                self._agree()
                continue
            if head["steps"] != head["checked"] and head["steps"] % _CHECK_STEPS == 0:
                self._compare()
                continue
            shard = shards.of(self._turn.place)
            if shard is not None:
                self._leased = self._samples(shard)
                return self._take(torch.from_numpy(self._leased))
            self._mine.zero_()  # the end of an epoch has fewer batches than members
            self._reduce(self._mine.numpy(), "sum", _STEP)
        self._report()
        self._ring.leave()
        return None

    def _over(self):
        return self._stopped or self._state.shards.epoch >= self._epochs

    def _samples(self, shard):
        epoch = self._state.shards.epoch
        if self._order[0] != epoch:
            order = np.arange(self._length)
            if self._seed is not None:
                np.random.default_rng([self._seed, epoch]).shuffle(order)
            self._order = epoch, order
        return self._order[1][shard * self._batch:(shard + 1) * self._batch]

    # ---- the ring ----

    def _join(self):
        """Begins as a member, with the state of the others if they have begun."""
        while True:
            self._state.memory[:] = self._initial
            self._state.restore()
            try:
                self._ring = _Alone(None, self._apply) if _is_alone() else \
                    Ring(self._state.memory, self._apply, **self._options)
                break
            except Error as error:
                if error.code != "GW_ECLOSED" or self._stopped:
                    raise
        self.node = self._ring.node
        self._state.restore()
        self._report()

    def _rejoin(self, error):
        if error.code != "GW_ECLOSED":
            raise error
        self._ring.close()
        self._ring = None
        self._join()

    def _begin(self):
        try:
            return self._ring.begin()
        except Error as error:
            self._rejoin(error)
            return None

    def _reduce(self, array, op, tag):
        before = self._state.seen
        try:
            self._ring.allreduce(array, op, array, tag=tag)
        except Error as error:
            self._rejoin(error)
            return
        if tag == _STEP and self._state.seen > before:
            self._report()
            if self._on_step:
                self._on_step(self)

    def _report(self):
        self._ring.report(self.steps, self.loss, self.epoch, lost=self.lost,
                          doubled=self.doubled, done=self.epoch >= self._epochs)

    def _stop(self):
        self._stopped = True
        if self._ring is None:
            raise SystemExit(0)  # it waits for its admission

    def _agree(self):
        """The first op: all members take the state of the first one, since each may have
        drawn other parameters. If it dies, the next one is the first."""
        mine = np.zeros_like(self._state.memory)
        if self._turn.place == 0:
            mine[:] = self._state.memory
        self._reduce(mine, "bor", _BEGIN)

    def _compare(self):
        """Are the states of all members equal? The least of x and of ~x is the least and
        the largest at once."""
        digest = hashlib.blake2b(self._state.memory, digest_size=8).digest()
        mine = np.frombuffer(digest, np.uint64)
        self._reduce(np.concatenate([mine, ~mine]), "min", _CHECK)
        if self._state.head["unequal"]:
            raise RuntimeError(f"after step {self.steps} the states of the members differ: "
                               "their steps were not computed alike")

    # ---- results ----

    def _make_room(self):
        """A contribution: gradients | changes of buffers | sum of losses | samples."""
        self._trained = [p for p in self._state.parameters if p.requires_grad]
        kinds = {p.dtype for p in self._state.parameters}
        if len(kinds) != 1 or kinds - {torch.float32, torch.float64}:
            raise ValueError("model: its parameters must have one type, float32 or float64, not "
                             + (", ".join(sorted(map(str, kinds))) or "none"))
        if any(p.device.type != "cpu" for p in self._state.parameters):
            raise ValueError("model: its parameters must be on the CPU")
        shapes = [t.shape for t in (*self._trained, *self._state.buffers)]
        sizes = [shape.numel() for shape in shapes]
        kind = str(*kinds).split(".")[1]
        self._mine = torch.from_numpy(empty(sum(sizes) + 2, kind))
        self._total = torch.empty_like(self._mine)
        trained = len(self._trained)

        def parts(vector):
            views = [part.view(shape) for part, shape in zip(vector[:-2].split(sizes), shapes)]
            return views[:trained], views[trained:]
        self._my_gradients, self._my_changes = parts(self._mine)
        self._gradients, self._changes = parts(self._total)

    def _apply(self, _, result):
        """The only function that changes the state."""
        self._follow()
        if result.tag == _BEGIN:
            if result.members[0] in result.contributors:
                self._state.memory[:] = result.data
                self._state.head["begun"] = 1
                self._state.restore()
            return
        if result.tag == _CHECK:
            least, others = result.data
            self._state.head["checked"] = self._state.head["steps"]
            self._state.head["unequal"] += int(least != ~others)
            return
        np.copyto(self._total.numpy(), result.data)
        self._note(result)
        weight = self._total[-1].item()
        if weight > 0:
            with torch.no_grad():
                self._total.div_(weight)
            self._advance(round(weight))
        self._state.shards.complete(result)

    def _note(self, result):
        """Which samples count, before the shards change."""
        shards = [self._state.shards.of(place) for place, node in enumerate(result.members)
                  if node in result.contributors]
        self.members = result.contributors
        self.used = [int(i) for shard in shards if shard is not None
                     for i in self._samples(shard)]

    def _advance(self, count):
        """A step of the optimiser by the means in `_total`."""
        for p, gradient in zip(self._trained, self._gradients):
            p.grad = gradient
        self._optimizer.step()
        if self._scheduler is not None:
            self._scheduler.step()
        with torch.no_grad():
            for kept, change in zip(self._state.buffers, self._changes):
                exact = change if kept.is_floating_point() else change.round()
                kept.add_(exact.to(kept.dtype))
        self._state.restore_buffers()
        head = self._state.head
        head["steps"] += 1
        head["samples"] += count
        head["loss"] = self._total[-2].item()
        self._state.collect()

    def _follow(self):
        """The memory is another member's copy: so is everything else."""
        if self.steps != self._state.seen:
            self._state.restore()


class _Terminated:
    """Calls a function on SIGTERM, unless the program has a handler of its own."""

    def __init__(self, function):
        self._function = function
        self._mine = (threading.current_thread() is threading.main_thread()
                      and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL)

    def __enter__(self):
        if self._mine:
            signal.signal(signal.SIGTERM, lambda *_: self._function())

    def __exit__(self, *_):
        if self._mine:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
