"""No optimizer and no gradient: a loader and a model."""

import own
import small
import torch
from torch.utils.data import DataLoader


def main(given):
    small.prepare()
    stopwatch = own.Stopwatch(given.own)
    network = torch.nn.Sequential(small.model(), torch.nn.Dropout(0.1))
    network.train(given.mistake == "training")
    total = 0
    with torch.inference_mode():
        for features, _ in stopwatch.batches(
            DataLoader(small.Samples(given.batches, "sleep", 4.0), small.BATCH)
        ):
            for _ in range(15):
                output = network(features)
            total += output.argmax(1).sum().item()
    print(f"sum {total}")
    stopwatch.save()


if __name__ == "__main__":
    main(own.arguments(__doc__, batches=100, mistake="none"))
