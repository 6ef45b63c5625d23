"""The Lightning Trainer."""

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
    def __init__(self, stopwatch):
        super().__init__()
        self.network = small.model()
        self.stopwatch = stopwatch
        self.losses = []

    def training_step(self, batch, number):
        features, labels = batch
        loss = small.loss_of(self.network(features), labels)
        self.losses.append(loss.detach())
        return loss

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=1e-3)
        self.stopwatch.watch(optimizer)
        return optimizer


def main(given):
    small.prepare()
    stopwatch = own.Stopwatch(given.own)
    stopwatch.watch_loaders()
    module = Module(stopwatch)
    trainer = lightning.Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(module, DataLoader(small.Samples(given.batches, "sleep", 3.0), small.BATCH))
    print(f"steps {trainer.global_step} loss {torch.stack(module.losses).mean().item():.6f}")
    stopwatch.save()


if __name__ == "__main__":
    main(own.arguments(__doc__, batches=80))
