"""Batches from a generator that nobody knows to be a loader."""

import own
import small
import torch


def read(batches, kind, milliseconds):
    generator = torch.Generator().manual_seed(1)
    for _ in range(batches):
        small.stall(kind, milliseconds)
        yield (
            torch.randn(small.BATCH, small.FEATURES, generator=generator),
            torch.randint(0, small.CLASSES, (small.BATCH,), generator=generator),
        )


def main(given):
    small.prepare()
    stopwatch = own.Stopwatch(given.own)
    network = small.model(width=1280)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3)
    for batch in stopwatch.batches(read(given.batches, given.kind, given.stall_ms)):
        loss = small.train_step(network, optimizer, batch, stopwatch)
    print(f"loss {loss:.6f}")
    stopwatch.save()


if __name__ == "__main__":
    main(own.arguments(__doc__, kind="sleep", stall_ms=8.0, batches=80))
