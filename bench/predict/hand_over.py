#!/usr/bin/env python3
"""Measures the CPU time that PyTorch's DataLoader takes to hand a batch from a worker process to the
loop, to check kFromProcess in analyzer/advise/context.cc.

    bench/predict/hand_over.py

Counts the CPU time of this process and of its workers for batches whose samples cost nothing, less that
of the same batches without workers. Needs torch.
"""

import resource
import statistics

import torch
from torch.utils.data import DataLoader, Dataset

BATCH = 16
FEW, MANY = 40, 340  # batches; the difference leaves out the start of the workers
ROUNDS = 5


class Samples(Dataset):
    def __init__(self, shape, tensors):
        self.sample = tuple(torch.randn(shape) for _ in range(tensors))

    def __len__(self):
        return BATCH * MANY

    def __getitem__(self, index):
        return self.sample


def cpu_seconds():
    """Of this process and of its workers that have ended."""
    return [
        sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    ]


def deliver(samples, workers, batches):
    before = cpu_seconds()
    loader = DataLoader(samples, batch_size=BATCH, num_workers=workers)
    for number, _ in enumerate(loader, 1):
        if number == batches:
            break
    del loader
    return [after - earlier for after, earlier in zip(cpu_seconds(), before, strict=True)]


def ms_a_batch(samples, workers):
    """(of the loop's process, of the workers)"""
    rounds = [
        [
            (many - few) / (MANY - FEW) * 1e3
            for many, few in zip(
                deliver(samples, workers, MANY), deliver(samples, workers, FEW), strict=True
            )
        ]
        for _ in range(ROUNDS)
    ]
    return [statistics.median(column) for column in zip(*rounds, strict=True)]


def main():
    torch.set_num_threads(1)
    print(f"{'a batch':<26}{'loop':>10}{'worker':>10}")
    for shape, tensors in (((16,), 2), ((16,), 4), ((3, 32, 32), 2), ((3, 64, 64), 2)):
        samples = Samples(shape, tensors)
        without = ms_a_batch(samples, 0)
        with_one = ms_a_batch(samples, 1)
        title = f"{tensors} tensors, {4 * BATCH * torch.Size(shape).numel() / 1000:.0f} kB each"
        print(f"{title:<26}{with_one[0] - without[0]:>7.2f} ms{with_one[1]:>7.2f} ms")


if __name__ == "__main__":
    main()
