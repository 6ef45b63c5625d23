"""An evaluation and a checkpoint every 25 steps."""

import io

import own
import small
import torch
from torch.utils.data import DataLoader


def evaluate(network, loader):
    network.eval()
    with torch.no_grad():
        right = sum(
            (network(features).argmax(1) == labels).sum().item() for features, labels in loader
        )
    network.train()
    return right


def main(given):
    small.prepare()
    stopwatch = own.Stopwatch(given.own)
    stopwatch.watch_loaders()  # the evaluation's too: those waits are input as well
    network = small.model()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05)
    held_out = DataLoader(small.Samples(5, "sleep", 1.0), small.BATCH)
    for number, batch in enumerate(
        DataLoader(small.Samples(given.batches, "sleep", 2.0), small.BATCH), 1
    ):
        small.train_step(network, optimizer, batch, stopwatch)
        if number % 25 == 0:
            with stopwatch.segment("evaluation"):
                print(f"step {number}: {evaluate(network, held_out)} right")
            with stopwatch.segment("checkpoint"):
                torch.save(network.state_dict(), io.BytesIO())
    stopwatch.save()


if __name__ == "__main__":
    main(own.arguments(__doc__, batches=110))
