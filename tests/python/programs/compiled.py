"""torch.compile around the model."""

import own
import small
import torch
from torch.utils.data import DataLoader


def main(given):
    small.prepare()
    stopwatch = own.Stopwatch(given.own)
    network = small.model()
    compiled = torch.compile(network)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05)
    for batch in stopwatch.batches(
        DataLoader(small.Samples(given.batches, "sleep", 2.0), small.BATCH)
    ):
        loss = small.train_step(compiled, optimizer, batch, stopwatch)
    print(f"loss {loss:.5f}")
    stopwatch.save()


if __name__ == "__main__":
    main(own.arguments(__doc__, batches=100))
