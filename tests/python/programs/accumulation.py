"""Gradient accumulation: four batches to an update."""

import own
import small
import torch
from torch.utils.data import DataLoader

EVERY = 4


def main(given):
    small.prepare()
    stopwatch = own.Stopwatch(given.own)
    network = small.model(width=1024)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05)
    loader = DataLoader(small.Samples(given.batches, "sleep", 2.0), small.BATCH)
    for number, (features, labels) in enumerate(stopwatch.batches(loader), 1):
        loss = small.loss_of(network(features), labels) / EVERY
        loss.backward()
        if number % EVERY == 0:
            stopwatch.update(optimizer.step)
            optimizer.zero_grad()
    print(f"loss {loss.item():.6f}")
    stopwatch.save()


if __name__ == "__main__":
    main(own.arguments(__doc__, batches=120))
