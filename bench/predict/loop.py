"""A small training loop with one problem, or without it: before and after, to check predictions.

loop.py --workers 2            the loader's workers; 0: the loop decodes itself
loop.py --epochs 10            how often to repeat --steps
loop.py --persistent           workers live for all epochs
loop.py --decode sleep|busy    decoding a sample is a wait (as for a disk) or work
loop.py --stall-every 20       a scope "checkpoint" of 30 ms in every 20th step
loop.py --optimizer loop|fused Adam as many small ops per parameter, or as one op
loop.py --adds 300             300 additional small ops in the forward pass
"""

import argparse
import time

import torch
from torch.utils.data import DataLoader, Dataset


class Samples(Dataset):
    """Making each sample takes `milliseconds`."""

    def __init__(self, count, milliseconds, busy):
        self.count, self.seconds, self.busy = count, milliseconds / 1e3, busy

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if self.busy:
            end = time.thread_time() + self.seconds
            while time.thread_time() < end:
                pass
        elif self.seconds > 0:
            time.sleep(self.seconds)
        return torch.full((256,), float(index % 7)), index % 10


def forward(model, images, adds):
    hidden = model(images)
    for _ in range(adds):
        hidden = hidden + 1e-6
    return hidden


def train(args):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    layers = []
    for _ in range(args.layers):
        layers += [torch.nn.Linear(256, 256), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(256, 10))
    optimizer = torch.optim.Adam(model.parameters(), foreach=False, fused=args.optimizer == "fused")
    samples = Samples(args.steps * args.batch, args.sample_ms, args.decode == "busy")
    loader = DataLoader(
        samples,
        batch_size=args.batch,
        num_workers=args.workers,
        persistent_workers=args.persistent,
    )
    epochs = (batch for _ in range(args.epochs) for batch in loader)
    for step, (images, labels) in enumerate(epochs):
        loss = torch.nn.functional.cross_entropy(forward(model, images, args.adds), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if args.stall_every and step % args.stall_every == args.stall_every - 1:
            with torch.profiler.record_function("checkpoint"):
                time.sleep(0.03)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--persistent", action="store_true")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--decode", choices=["sleep", "busy"], default="sleep")
    parser.add_argument("--sample-ms", type=float, default=0.0)
    parser.add_argument("--stall-every", type=int, default=0)
    parser.add_argument("--optimizer", choices=["loop", "fused"], default="loop")
    parser.add_argument("--adds", type=int, default=0)
    train(parser.parse_args())
