# SPDX-License-Identifier: MIT
"""What a training consists of, in one flat memory: the replicated state of a ring.

    head         begun, steps, samples, loss, the last comparison of the states
    shards       the position in the data (gradwire.Shards)
    tensors      parameters, buffers, and the tensors of the optimiser
    text         what the optimiser and the scheduler keep as numbers, as JSON

The tensors of the model and of the optimiser are views of this memory, so that a step of
the optimiser changes the state in place, and a joiner that has copied the memory only
reads the numbers back. Buffers are the exception: a forward pass changes them, and the
state may change only by results.

An optimiser makes its tensors in its first step. So the layout is that after a step, which
is made once for trial, with gradients of zero, and undone. Until the first step the
optimiser itself stays empty.
"""

import copy
import json

import numpy as np
import torch

from ..ring import Shards

_ALIGNMENT = 64
_HEAD = np.dtype([("begun", "u8"), ("steps", "u8"), ("samples", "u8"), ("checked", "u8"),
                  ("unequal", "u8"), ("loss", "f8"), ("text_bytes", "u8")])


def _plain(value):
    """Whether JSON can hold the value and give it back."""
    if isinstance(value, (list, tuple)):
        return all(map(_plain, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and _plain(item) for key, item in value.items())
    return value is None or isinstance(value, (bool, int, float, str))


def _like(value, model):
    """A value out of JSON, of the type of the present one: JSON has no tuples."""
    return tuple(value) if isinstance(model, tuple) else value


class TrainingState:
    """Attributes: memory (bytes), head, shards, parameters, buffers (views of the state)."""

    def __init__(self, model, optimizer, scheduler, shard_count):
        self.optimizer, self.scheduler = optimizer, scheduler
        self.parameters = list(dict.fromkeys(
            [*model.parameters(), *(p for g in optimizer.param_groups for p in g["params"])]))
        self._live_buffers = list(model.buffers())
        self._began = bool(optimizer.state)
        self._slots = self._find_slots()
        tensors = [*self.parameters, *self._live_buffers, *(like for _, _, like in self._slots)]
        self._place(tensors, shard_count, 4096 + 2 * self._text_bytes)
        self.seen = 0  # steps in the optimiser and in the live buffers
        if self._began:
            self.collect()
        self._write_text()

    def _find_slots(self):
        """(parameter, name, tensor) of all tensors of the optimiser after a step."""
        optimizer = self.optimizer
        if not self._began:
            before = [p.detach().clone() for p in self.parameters]
            groups = [{k: copy.copy(v) for k, v in g.items() if k != "params"}
                      for g in optimizer.param_groups]
            gradients = [p.grad for p in self.parameters]
            for p in self.parameters:
                p.grad = torch.zeros_like(p) if p.requires_grad else None
            optimizer.step()
        slots = [(p, name, value.clone()) for p, values in optimizer.state.items()
                 for name, value in values.items() if isinstance(value, torch.Tensor)]
        self._text_bytes = len(self._text())
        if not self._began:
            optimizer.state.clear()
            for group, values in zip(optimizer.param_groups, groups):
                group.update(values)
            with torch.no_grad():
                for p, old, gradient in zip(self.parameters, before, gradients):
                    p.copy_(old)
                    p.grad = gradient
        return slots

    def _place(self, tensors, shard_count, room):
        """Makes the memory, and moves the tensors into it."""
        places, end = [], _HEAD.itemsize
        for size in [Shards.bytes(shard_count),
                     *(t.numel() * t.element_size() for t in tensors), room]:
            begin = -(-end // _ALIGNMENT) * _ALIGNMENT
            places.append(slice(begin, begin + size))
            end = begin + size
        whole = np.zeros(end + _ALIGNMENT, np.uint8)
        self.memory = whole[-whole.ctypes.data % _ALIGNMENT:][:end]
        self.head = self.memory[:_HEAD.itemsize].view(_HEAD)[0]
        self.shards = Shards(self.memory[places[0]], shard_count)
        self._text_at = self.memory[places[-1]]
        views = [self._view(place, like) for place, like in zip(places[1:], tensors)]
        parameters, buffers = len(self.parameters), len(self._live_buffers)
        for p, made in zip(self.parameters, views):
            p.data = made
        self.buffers = views[parameters:parameters + buffers]
        self._slots = [(p, name, made) for (p, name, _), made
                       in zip(self._slots, views[parameters + buffers:])]

    def _view(self, place, like):
        numbers = torch.from_numpy(self.memory[place]).view(like.dtype)
        made = numbers.view(like.shape)
        made.copy_(like.detach())
        return made

    # ---- numbers ----

    def _text(self):
        """What is not in tensors."""
        states = self.optimizer.state
        order = {p: i for i, p in enumerate(self.parameters)}
        numbers = {f"{order[p]}.{name}": value for p, values in states.items()
                   for name, value in values.items() if _plain(value)}
        groups = [{name: value for name, value in group.items() if _plain(value)}
                  for group in self.optimizer.param_groups]
        kept = {} if self.scheduler is None else {
            name: value for name, value in self.scheduler.state_dict().items() if _plain(value)}
        return json.dumps([numbers, groups, kept], sort_keys=True).encode()

    def _write_text(self):
        text = self._text()
        if len(text) > len(self._text_at):
            raise RuntimeError(f"the numbers of the optimiser have grown from at most "
                               f"{len(self._text_at)} to {len(text)} bytes")
        self._text_at[:len(text)] = np.frombuffer(text, np.uint8)
        self.head["text_bytes"] = len(text)

    def _read_text(self):
        text = self._text_at[:int(self.head["text_bytes"])].tobytes()
        numbers, groups, kept = json.loads(text)
        for name, value in numbers.items():
            index, name = name.split(".", 1)
            state = self.optimizer.state[self.parameters[int(index)]]
            state[name] = _like(value, state.get(name))
        for group, values in zip(self.optimizer.param_groups, groups):
            group.update({name: _like(value, group.get(name)) for name, value in values.items()})
        if self.scheduler is not None:
            self.scheduler.load_state_dict(kept)

    # ---- between the state, and the model and the optimiser ----

    def collect(self):
        """After a step of the optimiser: takes its tensors and numbers into the state."""
        for p, name, own in self._slots:
            theirs = self.optimizer.state[p].get(name) if p in self.optimizer.state else None
            if theirs is not None and theirs is not own:
                own.copy_(theirs)
                self.optimizer.state[p][name] = own
        self._write_text()
        self.seen = int(self.head["steps"])

    def restore(self):
        """After the memory has been copied from another member, or set: the optimiser and
        the buffers follow it."""
        self.seen = int(self.head["steps"])
        self.optimizer.state.clear()
        if self.seen or self._began:
            for p, name, own in self._slots:
                self.optimizer.state[p][name] = own
        self._read_text()
        self.restore_buffers()

    def restore_buffers(self):
        with torch.no_grad():
            for live, kept in zip(self._live_buffers, self.buffers):
                live.copy_(kept)

    def buffer_changes(self):
        """What the forward pass has changed, by buffer."""
        return [live - kept for live, kept in zip(self._live_buffers, self.buffers)]
