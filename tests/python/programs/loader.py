"""Two epochs over a DataLoader."""

import own
import small
import torch
from torch.utils.data import DataLoader


def main(given):
    small.prepare()
    stopwatch = own.Stopwatch(given.own)
    network = small.model()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9)
    loader = DataLoader(
        small.Samples(given.batches, given.kind, given.stall_ms),
        small.BATCH,
        num_workers=given.workers,
    )
    for epoch in range(2):
        for batch in stopwatch.batches(loader):
            loss = small.train_step(network, optimizer, batch, stopwatch)
        print(f"epoch {epoch} loss {loss:.6f}")
    stopwatch.save()


if __name__ == "__main__":
    main(own.arguments(__doc__, workers=0, kind="sleep", stall_ms=2.0, batches=60))
