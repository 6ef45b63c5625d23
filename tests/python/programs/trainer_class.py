"""A Trainer as projects write them: the loop is in a class, hooks are called, gradients are clipped."""

import own
import small
import torch
from torch.utils.data import DataLoader


class Trainer:
    def __init__(self, network, optimizer, stopwatch):
        self.network = network
        self.optimizer = optimizer
        self.stopwatch = stopwatch
        self.losses = []

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            self.on_epoch(epoch)
            for batch in self.stopwatch.batches(loader):
                self.step(*batch)

    def step(self, features, labels):
        loss = self.loss(features, labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.stopwatch.update(self.optimizer.step)
        self.optimizer.zero_grad()
        self.losses.append(loss.detach())

    def loss(self, features, labels):
        return small.loss_of(self.network(features), labels)

    def on_epoch(self, epoch):
        self.network.train()


def main(given):
    small.prepare()
    stopwatch = own.Stopwatch(given.own)
    network = small.model()
    trainer = Trainer(network, torch.optim.Adam(network.parameters(), lr=1e-3), stopwatch)
    trainer.fit(DataLoader(small.Samples(50, "busy", 2.0), small.BATCH, shuffle=False), epochs=2)
    print(f"loss {torch.stack(trainer.losses).mean().item():.6f}")
    stopwatch.save()


if __name__ == "__main__":
    main(own.arguments(__doc__))
