"""A training that times the forward pass of its own modules.

python modules.py OWN.json STEPS [compile | profile TRACE.json]

`profile`: torch.profiler records it, with the calls of modules, and writes TRACE.json.
"""

import contextlib
import json
import sys
import threading
import time

import torch
from torch import nn

torch.set_num_threads(1)
own = {}


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        return self.out(torch.softmax(self.inner(x), -1))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attention = Attention(width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return self.norm(x + self.attention(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(Block(256) for _ in range(2))})
        self.wide = nn.Linear(256, 2048)
        self.head = nn.Linear(2048, 8)

    def forward(self, x):
        for block in self.encoder["layer"]:
            x = block(x)
        return nn.ReLU()(self.head(self.wide(x)))


class Broken(nn.Module):
    def forward(self, x):
        raise ValueError("as it is meant to")


def timed(name, forward):
    own[name] = 0.0

    def run(*arguments):
        begin = time.perf_counter()
        try:
            return forward(*arguments)
        finally:
            own[name] += time.perf_counter() - begin

    return run


def main():
    torch.manual_seed(1)
    model = Net()
    for name, module in model.named_modules():
        if not isinstance(module, (nn.ModuleList, nn.ModuleDict)):
            module.forward = timed(name, module.forward)
    stepped = torch.compile(model, backend="eager") if "compile" in sys.argv else model
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    loss = nn.MSELoss()
    batches = torch.utils.data.DataLoader(torch.randn(128 * int(sys.argv[2]), 256), batch_size=128)
    profiler = contextlib.nullcontext()
    if "profile" in sys.argv:
        profiler = torch.profiler.profile(with_stack=True, with_modules=True)
    with profiler:
        train(model, stepped, optimizer, loss, batches)
    if "profile" in sys.argv:
        profiler.export_chrome_trace(sys.argv[4])
    with open(sys.argv[1], "w") as file:
        json.dump(own, file)


def train(model, stepped, optimizer, loss, batches):
    for batch in batches:
        optimizer.zero_grad()
        loss(stepped(batch), torch.zeros(128, 8)).backward()
        optimizer.step()
        try:
            Broken()(batch)
        except ValueError:
            pass
    beside = threading.Thread(target=lambda: model(torch.randn(2, 256)))
    beside.start()
    beside.join()


main()
