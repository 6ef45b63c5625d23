"""Mixed precision and a learning-rate scheduler."""

import own
import small
import torch
from torch.utils.data import DataLoader


def main(given):
    small.prepare()
    stopwatch = own.Stopwatch(given.own)
    network = small.model()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=0.1, total_steps=given.batches
    )
    for features, labels in stopwatch.batches(
        DataLoader(small.Samples(given.batches, "sleep", 2.0), small.BATCH)
    ):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = small.loss_of(network(features), labels)
        loss.backward()
        stopwatch.update(optimizer.step)
        scheduler.step()
    print(f"loss {loss.item():.6f} rate {scheduler.get_last_lr()[0]:.3e}")
    stopwatch.save()


if __name__ == "__main__":
    main(own.arguments(__doc__, batches=100))
