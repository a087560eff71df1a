# SPDX-License-Identifier: MIT
"""A member of an elastic training: a small network with dropout, so that members compute
different things. It prints a line of JSON for each step, with the samples that count.
Operands: epochs, a folder in which the file "gate" lets step 3 go on, and optionally the
step after which it leaves the loop."""

import json
import os
import sys
import time

import torch
from torch import nn

import gradwire.torch

epochs, folder = int(sys.argv[1]), sys.argv[2]
torch.set_num_threads(1)
torch.manual_seed(os.getpid())
x = torch.randn(203, 6, generator=torch.Generator().manual_seed(1))
model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(0.1), nn.Linear(8, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10, 0.9)


def digest():
    tensors = [*model.parameters(), *model.buffers()]
    return float(sum(t.double().sum() for t in tensors)), optimizer.param_groups[0]["lr"]


def show(training):
    line = {"step": training.steps, "used": training.used, "members": training.members,
            "loss": training.loss, "digest": digest()}
    print(json.dumps(line), flush=True)


training = gradwire.torch.Elastic(model, optimizer, (x, x.sum(1, keepdim=True)), batch=4,
                                  epochs=epochs, scheduler=scheduler, on_step=show)
for inputs, targets in training:
    while training.steps == 3 and not os.path.exists(os.path.join(folder, "gate")):
        time.sleep(0.01)
    training.step(nn.functional.mse_loss(model(inputs), targets))
    if sys.argv[3:] and training.steps >= int(sys.argv[3]):
        break
print(json.dumps({"done": training.epoch, "lost": training.lost, "doubled": training.doubled,
                  "node": training.node, "digest": digest()}), flush=True)
