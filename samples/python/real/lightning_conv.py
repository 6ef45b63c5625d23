"""Trains a tiny convolutional network with Lightning on made-up images, with validation and a
checkpoint after each epoch.

stepscope run -o run.db -- python3 lightning_conv.py --timers timers.json
"""

import logging
import tempfile
import time
import warnings

import timers
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

import lightning
from lightning.pytorch.callbacks import ModelCheckpoint

BATCH, SIZE, CLASSES, EPOCHS = 16, 32, 10, 2


class Images(Dataset):
    """Decoding an image takes `image_ms`."""

    def __init__(self, images, image_ms, seed):
        generator = torch.Generator().manual_seed(seed)
        self.images = torch.randn(images, 3, SIZE, SIZE, generator=generator)
        self.labels = torch.randint(0, CLASSES, (images,), generator=generator)
        self.image_ms = image_ms

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        time.sleep(self.image_ms / 1e3)
        return self.images[index], self.labels[index]


class ConvNet(lightning.LightningModule):
    def __init__(self, timed):
        super().__init__()
        self.network = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(4),
            nn.Flatten(),
            nn.Linear(32 * 16, CLASSES),
        )
        self.timed = timed
        self.losses = []

    def loss(self, batch):
        images, labels = batch
        return nn.functional.cross_entropy(self.network(images), labels)

    def training_step(self, batch, number):
        loss = self.timed.phase("forward", lambda: self.loss(batch))
        self.losses.append(loss.detach())
        return loss

    def validation_step(self, batch, number):
        self.log("validation_loss", self.loss(batch))

    def on_validation_start(self):
        self.validating_since = time.perf_counter_ns()

    def on_validation_end(self):
        self.timed.end_segment("evaluation", self.validating_since)

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=1e-3)
        self.timed.watch(optimizer, trains=lambda: self.training)
        return optimizer


def main(given):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = ConvNet(timers.Timers(given.timers))
    training = Images(given.batches * BATCH, given.image_ms, 1)
    validation = Images(8 * BATCH, given.image_ms, 2)
    with tempfile.TemporaryDirectory() as folder:
        trainer = lightning.Trainer(
            max_epochs=EPOCHS,
            accelerator="cpu",
            logger=False,
            callbacks=[ModelCheckpoint(folder, monitor="validation_loss")],
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        trainer.save_checkpoint = model.timed.segments("checkpoint", trainer.save_checkpoint)
        trainer.fit(model, DataLoader(training, BATCH), DataLoader(validation, BATCH))
    print(f"steps {trainer.global_step} loss {torch.stack(model.losses).mean().item():.4f}")
    model.timed.save(batches_per_step=1)


if __name__ == "__main__":
    main(timers.arguments(__doc__, batches=50, image_ms=0.1))
