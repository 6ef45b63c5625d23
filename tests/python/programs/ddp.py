"""Two ranks under torchrun; one of them waits longer for its batches, and so the other waits for it.

Each rank writes what it saw to FILE.RANK.
"""

import ctypes
import os
import signal
import sys

import own
import small
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader


PR_SET_PDEATHSIG = 1


def main(given):
    # Where torchrun is killed, its ranks would go on and take the cores from other tests.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    small.prepare()
    stopwatch = own.Stopwatch(given.own and f"{given.own}.{rank}")
    network = DistributedDataParallel(small.model())
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05)
    milliseconds = given.slow_ms if rank == given.slow_rank else 1.0
    for batch in stopwatch.batches(
        DataLoader(small.Samples(given.batches, "sleep", milliseconds), small.BATCH)
    ):
        loss = small.train_step(network, optimizer, batch, stopwatch)
    if rank == 0:
        print(f"ranks {dist.get_world_size()} loss {loss:.6f}")
    stopwatch.save()
    dist.destroy_process_group()
    # Where a machine is busy, one in some forty ends of a rank is an abort in torch's own threads ("terminate called
    # without an active exception"), whether or not anybody looks.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main(own.arguments(__doc__, batches=80, slow_rank=1, slow_ms=12.0))
