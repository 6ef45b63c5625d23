"""The Lightning Trainer. It trains inside the optimizer's closure, and clears the gradients in the middle of that."""

import logging
import warnings

import own
import small
import torch
from torch.utils.data import DataLoader

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

import lightning


class Module(lightning.LightningModule):
    def __init__(self, stopwatch, optimizer, width):
        super().__init__()
        self.network = small.model(width)
        self.stopwatch = stopwatch
        self.optimizer = optimizer
        self.losses = []

    def training_step(self, batch, number):
        features, labels = batch
        loss = self.stopwatch.phase(
            "forward", lambda: small.loss_of(self.network(features), labels)
        )
        self.losses.append(loss.detach())
        return loss

    def configure_optimizers(self):
        if self.optimizer == "lbfgs":
            optimizer = torch.optim.LBFGS(self.parameters(), lr=0.05, max_iter=3, history_size=2)
        else:
            optimizer = torch.optim.Adam(self.parameters(), lr=1e-3)
        self.stopwatch.watch(optimizer)
        self.stopwatch.watch_phases(optimizer)
        return optimizer


class Adversaries(Module):
    """Two networks with an optimizer each, which the program calls itself (manual optimization)."""

    def __init__(self, *given):
        super().__init__(*given)
        self.automatic_optimization = False
        self.other = small.model(given[-1])

    def training_step(self, batch, number):
        for network, optimizer in zip([self.network, self.other], self.optimizers()):
            features, labels = batch
            loss = self.stopwatch.phase("forward", lambda: small.loss_of(network(features), labels))
            self.losses.append(loss.detach())
            optimizer.zero_grad()
            self.manual_backward(loss)
            optimizer.step()

    def configure_optimizers(self):
        optimizers = [
            torch.optim.Adam(network.parameters(), lr=1e-3)
            for network in (self.network, self.other)
        ]
        for optimizer in optimizers:
            self.stopwatch.watch(optimizer)
        self.stopwatch.watch_phases(*optimizers)
        return optimizers


def main(given):
    small.prepare()
    stopwatch = own.Stopwatch(given.own)
    stopwatch.watch_loaders()
    kind = Adversaries if given.optimizer == "gan" else Module
    module = kind(stopwatch, given.optimizer, given.width)
    trainer = lightning.Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        accumulate_grad_batches=given.accumulate,
    )
    samples = small.Samples(given.batches * given.rows, "sleep", 3.0 / given.rows)
    trainer.fit(module, DataLoader(samples, small.BATCH * given.rows))
    print(f"steps {trainer.global_step} loss {torch.stack(module.losses).mean().item():.6f}")
    stopwatch.save()


if __name__ == "__main__":
    main(own.arguments(__doc__, batches=80, accumulate=1, optimizer="adam", width=512, rows=1))
