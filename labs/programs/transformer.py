# SPDX-License-Identifier: MIT
"""A transformer that writes text, letter by letter, trained by processes that may die.

    python3 transformer.py                             alone
    ringctl up 4 exec python3 transformer.py           four processes
    ringctl kill 2; ringctl add; ringtop               while it trains
    collrun exec -n 3 python3 transformer.py --reproducible
                                                       the same bits with any number

It reads the pages of the labs, or --text FILE. Node 0 of the ring prints the loss, and at
the end what the model writes. --log FILE keeps a line of JSON for each step, with the
samples that count in it, so that they can be checked.

The model is that of Vaswani et al., Attention Is All You Need, 2017, without the encoder
and with the norms first: an embedding of letters and of places, blocks of attention and
of a small network, and scores of the next letter.
"""

import argparse
import hashlib
import json
import math
import time
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

import gradwire.torch


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--text", help="a file; default: the pages of the labs")
    parser.add_argument("--letters", type=int, default=60000, help="of the text")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--blocks", type=int, default=2)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--context", type=int, default=32, help="letters that it looks back")
    parser.add_argument("--batch", type=int, default=16, help="sequences per process and step")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--count", action="store_true", help="print the parameters, and end")
    parser.add_argument("--steps", type=int, default=100, help="with --reproducible")
    parser.add_argument("--reproducible", action="store_true",
                        help="the ranks share each batch, and their number changes no bit")
    parser.add_argument("--log", help="a file; each node adds its number to the name")
    return parser.parse_args()


# ---- the text ----

ALPHABET = 128  # the codes of ASCII


def read_text(options):
    if options.text:
        text = Path(options.text).read_text()
    else:
        beside = Path(__file__).resolve().parents[1]  # the labs, or the folder with them
        pages = [*beside.glob("[0-9]*/README.md"), *beside.glob("labs/[0-9]*/README.md")]
        text = "".join(page.read_text() for page in sorted(pages))
    return text.encode("ascii", "replace")[:options.letters]


class Sequences(torch.utils.data.Dataset):
    """Sequence i of the text: `context` letters, and the letter after each of them. They
    do not overlap, so that each letter is learned once per epoch."""

    def __init__(self, text, context):
        self.letters = torch.tensor(list(text))
        self.context = context

    def __len__(self):
        return (len(self.letters) - 1) // self.context

    def __getitem__(self, i):
        begin = i * self.context
        piece = self.letters[begin:begin + self.context + 1]
        return piece[:-1], piece[1:]


# ---- the model ----


class Attention(nn.Module):
    """Each place asks the places before it: a query, compared with their keys, weighs
    their values."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query_key_value = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, places, width = x.shape
        split = (batch, places, self.heads, width // self.heads)
        query, key, value = (part.view(split).transpose(1, 2)
                             for part in self.query_key_value(x).chunk(3, -1))
        scores = query @ key.transpose(-2, -1) / math.sqrt(split[-1])
        later = torch.ones(places, places, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(later, -math.inf).softmax(-1)
        return self.out((weights @ value).transpose(1, 2).reshape(batch, places, width))


class Block(nn.Module):
    """Attention between places, then a network at each place; both add to their input."""

    def __init__(self, width, heads):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.attention = Attention(width, heads)
        self.network = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(),
                                     nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norms[0](x))
        return x + self.network(self.norms[1](x))


class Transformer(nn.Module):
    def __init__(self, width, blocks, heads, context):
        super().__init__()
        self.context = context
        self.letter = nn.Embedding(ALPHABET, width)
        self.place = nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(blocks)))
        self.norm = nn.LayerNorm(width)
        self.score = nn.Linear(width, ALPHABET)

    def forward(self, letters):
        places = torch.arange(letters.shape[1])
        x = self.letter(letters) + self.place(places)
        return self.score(self.norm(self.blocks(x)))

    @torch.no_grad()
    def write(self, begin, count):
        """Goes on with the text, letter by letter."""
        generator = torch.Generator().manual_seed(1)
        letters = list(begin)
        for _ in range(count):
            scores = self(torch.tensor([letters[-self.context:]]))[0, -1]
            letters.append(torch.multinomial((scores / 0.7).softmax(0), 1,
                                             generator=generator).item())
        return letters


# ---- training ----


class Log:
    """What each step was made of, and what the user sees of it."""

    def __init__(self, options):
        self.path, self.file, self.shown = options.log, None, 0.0

    def __call__(self, training):
        if self.path:
            self.file = self.file or open(f"{self.path}.{training.node}", "a", buffering=1)
            line = {"time": time.monotonic(), "step": training.steps, "loss": training.loss,
                    "used": training.used, "members": training.members}
            self.file.write(json.dumps(line) + "\n")
        if training.place == 0 and time.monotonic() - self.shown > 2:
            self.shown = time.monotonic()
            print(f"step {training.steps}, epoch {training.epoch}, {len(training.members)} "
                  f"members: loss {training.loss:.3f}", flush=True)


def loss_of(model, letters, following):
    return functional.cross_entropy(model(letters).flatten(0, 1), following.flatten())


def train_reproducibly(model, optimizer, data, options):
    """All ranks draw the same batches. Each computes the gradients of its sequences one by
    one, so that no bit of them depends on the other ranks."""
    gradwire.torch.init_process_group()
    rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
    gradients = gradwire.torch.Reproducible(model.parameters())
    draw = torch.Generator().manual_seed(1)
    for _ in range(options.steps):
        batch = torch.randint(len(data), (options.batch,), generator=draw)
        for i in batch[rank::size].tolist():
            letters, following = data[i]
            loss_of(model, letters[None], following[None]).backward()
            gradients.add()
        gradients.reduce()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    if rank == 0:
        bits = torch.cat([p.detach().flatten() for p in model.parameters()]).numpy().tobytes()
        print(f"{options.steps} steps of {options.batch} sequences, {size} rank{'s' * (size > 1)}: digest",
              hashlib.blake2b(bits, digest_size=8).hexdigest(), flush=True)


def main():
    options = arguments()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    data = Sequences(read_text(options), options.context)
    model = Transformer(options.width, options.blocks, options.heads, options.context)
    if options.count:
        print(sum(p.numel() for p in model.parameters()), "parameters,", len(data), "sequences")
        return

    optimizer = torch.optim.AdamW(model.parameters(), lr=options.rate)
    if options.reproducible:
        train_reproducibly(model, optimizer, data, options)
        return

    training = gradwire.torch.Elastic(model, optimizer, data, batch=options.batch,
                                      epochs=options.epochs, on_step=Log(options))
    for letters, following in training:
        training.step(loss_of(model, letters, following))

    print(f"node {training.node}: step {training.steps}, {training.samples} sequences, "
          f"{training.lost} lost, {training.doubled} doubled, state of {training.state_bytes} "
          f"bytes, loss {training.loss:.3f}", flush=True)
    if training.node == 0:
        print("".join(map(chr, model.write(b"The ", 200))), flush=True)


if __name__ == "__main__":
    main()
