"""A small model, a data set that stalls by a known time, and a plain training step."""

import time

import torch
from torch import nn
from torch.utils.data import Dataset

FEATURES, CLASSES, BATCH = 256, 10, 32


def prepare():
    """One thread and one seed, so that two runs print the same."""
    torch.set_num_threads(1)
    torch.manual_seed(0)


def stall(kind, milliseconds):
    """Waits as a disk makes one wait (sleep) or as a decoder does (busy)."""
    if kind == "sleep":
        time.sleep(milliseconds / 1e3)
    else:
        until = time.perf_counter_ns() + milliseconds * 1e6
        while time.perf_counter_ns() < until:
            pass


class Samples(Dataset):
    """`batches` × BATCH samples. Each batch costs `milliseconds` of stall, in the sample that begins it."""

    def __init__(self, batches, kind="sleep", milliseconds=0.0):
        generator = torch.Generator().manual_seed(1)
        self._features = torch.randn(batches * BATCH, FEATURES, generator=generator)
        self._labels = torch.randint(0, CLASSES, (batches * BATCH,), generator=generator)
        self._kind = kind
        self._milliseconds = milliseconds

    def __len__(self):
        return len(self._features)

    def __getitem__(self, index):
        if index % BATCH == 0 and self._milliseconds > 0:
            stall(self._kind, self._milliseconds)
        return self._features[index], self._labels[index]


def model(width=512):
    return nn.Sequential(
        nn.Linear(FEATURES, width),
        nn.ReLU(),
        nn.Linear(width, width),
        nn.ReLU(),
        nn.Linear(width, CLASSES),
    )


loss_of = nn.functional.cross_entropy


def train_step(network, optimizer, batch, stopwatch):
    features, labels = batch
    optimizer.zero_grad()
    loss = loss_of(network(features), labels)
    loss.backward()
    stopwatch.update(optimizer.step)
    return loss.item()
