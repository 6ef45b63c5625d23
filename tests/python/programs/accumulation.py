"""Gradient accumulation: four batches to an update, in each way that programs do it."""

import contextlib

import own
import small
import torch
from torch.utils.data import DataLoader

EVERY = 4


class Loop:
    """A plain loop: an update after each fourth batch."""

    def __init__(self, stopwatch):
        self.stopwatch = stopwatch
        self.network = small.model(width=1024)
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=0.05)

    def loader(self, batches):
        return DataLoader(small.Samples(batches, "sleep", 2.0), small.BATCH)

    def run(self, batches):
        for number, batch in enumerate(self.stopwatch.batches(self.loader(batches)), 1):
            with self.synchronizing(number % EVERY == 0):
                loss = self.train(*batch)
            if number % EVERY == 0:
                self.stopwatch.update(self.update)
                self.optimizer.zero_grad()
        return loss

    def synchronizing(self, last):
        return contextlib.nullcontext()

    def train(self, features, labels):
        loss = small.loss_of(self.network(features), labels) / EVERY
        self.backward(loss)
        return loss

    def backward(self, loss):
        loss.backward()

    def update(self):
        self.optimizer.step()


class Clearing(Loop):
    """Clears the gradients before the first batch, not after the last. Every tenth update is skipped."""

    updates = 0

    def run(self, batches):
        for number, batch in enumerate(self.stopwatch.batches(self.loader(batches))):
            if number % EVERY == 0:
                self.optimizer.zero_grad()
            loss = self.train(*batch)
            if number % EVERY == EVERY - 1:
                self.stopwatch.update(self.update)
        return loss

    def update(self):
        self.updates += 1
        if self.updates % 10 != 0:
            self.optimizer.step()


class Scaling(Loop):
    """A GradScaler, which skips every fifth update: a gradient overflowed."""

    def __init__(self, stopwatch):
        super().__init__(stopwatch)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=1000)
        self.updates = 0

    def backward(self, loss):
        self.scaler.scale(loss).backward()

    def update(self):
        self.updates += 1
        if self.updates % 5 == 0:
            next(self.network.parameters()).grad.view(-1)[0] = float("inf")
        self.scaler.step(self.optimizer)
        self.scaler.update()


class Distributed(Loop):
    """Gradients are synchronized with the last of the four batches only."""

    def __init__(self, stopwatch):
        super().__init__(stopwatch)
        torch.distributed.init_process_group(
            "gloo", store=torch.distributed.HashStore(), rank=0, world_size=1
        )
        self.network = torch.nn.parallel.DistributedDataParallel(self.network)

    def synchronizing(self, last):
        return contextlib.nullcontext() if last else self.network.no_sync()


class Evaluating(Loop):
    """A few batches that nobody trains on after every fifth update."""

    def run(self, batches):
        held_out = DataLoader(small.Samples(6, "sleep", 1.0), small.BATCH)
        for number, batch in enumerate(self.stopwatch.batches(self.loader(batches)), 1):
            loss = self.train(*batch)
            if number % EVERY == 0:
                self.stopwatch.update(self.update)
                self.optimizer.zero_grad()
            if number % (5 * EVERY) == 0:
                with self.stopwatch.segment("evaluation"), torch.no_grad():
                    for features, _ in self.stopwatch.batches(held_out, trains=False):
                        self.network(features)
        return loss


class Adversaries(Loop):
    """Two networks with an optimizer each: one learns from four batches, then the other from the same four."""

    def __init__(self, stopwatch):
        super().__init__(stopwatch)
        self.other = small.model(width=1024)
        self.others = torch.optim.SGD(self.other.parameters(), lr=0.05)

    def run(self, batches):
        waiting = []
        for batch in self.stopwatch.batches(self.loader(batches)):
            waiting.append(batch)
            loss = self.train(*batch)
            if len(waiting) < EVERY:
                continue
            self.optimizer.step()
            self.optimizer.zero_grad()
            for features, labels in waiting:
                (small.loss_of(self.other(features), labels) / EVERY).backward()
            self.stopwatch.update(self.others.step)
            self.others.zero_grad()
            waiting = []
        return loss


class Accelerated(Loop):
    """accelerate's accumulate(): step() and zero_grad() do nothing before the fourth batch."""

    def run(self, batches):
        from accelerate import Accelerator

        self.stopwatch.watch_loaders()  # it fetches one batch ahead
        self.stopwatch.watch(self.optimizer)
        accelerator = Accelerator(gradient_accumulation_steps=EVERY, cpu=True)
        network, optimizer, loader = accelerator.prepare(
            self.network, self.optimizer, self.loader(batches)
        )
        for features, labels in loader:
            with accelerator.accumulate(network):
                loss = small.loss_of(network(features), labels)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
        return loss


WAYS = {
    "plain": Loop,
    "clearing": Clearing,
    "scaler": Scaling,
    "no-sync": Distributed,
    "evaluation": Evaluating,
    "gan": Adversaries,
    "accelerate": Accelerated,
}


def main(given):
    small.prepare()
    stopwatch = own.Stopwatch(given.own)
    loss = WAYS[given.way](stopwatch).run(given.batches)
    print(f"loss {loss.item():.6f}")
    stopwatch.save()


if __name__ == "__main__":
    main(own.arguments(__doc__, way="plain", batches=280))
