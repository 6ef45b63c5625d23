"""A loop that is starved of cores by whatever runs beside it, and that measures itself.

starved.py KIND STEPS THREADS OUTPUT. KIND: loader (batches of a DataLoader, of which each takes 2 ms to prepare) or plain
(no loader: the same batch again and again). Writes {"pid", "tid", "share"}: the share of the loop's time for which its
thread was ready to run and had no core, by the thread's own schedstat, from the 20th step on.
"""

import json
import os
import sys
import threading
import time

kind, steps, threads, output = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]

import torch
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(threads)
WARM_UP = 20


def starved_ns():
    with open("/proc/thread-self/schedstat") as file:
        return int(file.read().split()[1])


class Batches(Dataset):
    batch = torch.randn(64, 256), torch.randint(0, 10, (64,))

    def __len__(self):
        return steps

    def __getitem__(self, index):
        until = time.thread_time_ns() + 2_000_000
        while time.thread_time_ns() < until:
            pass
        return self.batch


network = torch.nn.Sequential(
    torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512), torch.nn.Linear(512, 10)
)
optimizer = torch.optim.SGD(network.parameters(), lr=1e-3)
batches = DataLoader(Batches(), batch_size=None) if kind == "loader" else [Batches.batch] * steps
begin = None
for index, (features, labels) in enumerate(batches):
    if index == WARM_UP:
        begin = time.monotonic_ns(), starved_ns()
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(network(features), labels).backward()
    optimizer.step()
share = (starved_ns() - begin[1]) / (time.monotonic_ns() - begin[0])
with open(output, "w") as file:
    json.dump({"pid": os.getpid(), "tid": threading.get_native_id(), "share": share}, file)
