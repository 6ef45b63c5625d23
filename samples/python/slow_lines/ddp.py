"""Two ranks of DistributedDataParallel, whose samples come from a slow remote disk.

    stepscope run -o run.db -- torchrun --nproc-per-node 2 ddp.py

The slow line waits for that disk.
"""

import os
import sys
import time

import planted
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

BATCH, WIDTH, CLASSES = 8, 256, 10


class Remote(Dataset):
    def __init__(self, samples, delay):
        self.samples, self.delay = samples, delay

    def __len__(self):
        return self.samples

    def fetch(self, index):
        time.sleep(self.delay)  # the slow line
        return torch.full((WIDTH,), float(index % 7))

    def __getitem__(self, index):
        sample = self.fetch(index)
        return (sample - sample.mean()) / (sample.std() + 1), index % CLASSES


def main():
    given = planted.arguments(__doc__, steps=150)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    ranks = dist.get_world_size()
    data = Remote(given.steps * BATCH * ranks, delay=0.001 if given.fixed else 0.002)
    network = DistributedDataParallel(
        nn.Sequential(nn.Linear(WIDTH, 512), nn.ReLU(), nn.Linear(512, CLASSES))
    )
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05)
    clock = planted.StepTimer()
    for samples, labels in DataLoader(data, BATCH, sampler=DistributedSampler(data)):
        loss = nn.functional.cross_entropy(network(samples), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        clock.step()
    if dist.get_rank() == 0:
        clock.report()
    dist.destroy_process_group()
    # On a busy machine, torch's threads may abort the process while it exits.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
