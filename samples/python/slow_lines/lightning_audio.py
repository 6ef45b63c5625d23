"""A small network on made-up sounds with Lightning; a worker computes their spectra.

    stepscope run -o run.db -- python3 lightning_audio.py

The slow line is a Fourier transform.
"""

import logging
import tempfile
import warnings

import numpy
import planted
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

import lightning

BATCH, LENGTH, FRAME, CLASSES = 8, 16384, 512, 4


class Sounds(Dataset):
    def __init__(self, steps, passes):
        random = numpy.random.default_rng(0)
        self.sounds = random.standard_normal((32, LENGTH)).astype(numpy.float32)
        self.count, self.passes = steps * BATCH, passes

    def __len__(self):
        return self.count

    def spectrum(self, sound):
        frames = sound.reshape(-1, FRAME)
        total = 0
        for _ in range(self.passes):
            total += numpy.abs(numpy.fft.rfft(frames))  # the slow line
        return total

    def __getitem__(self, index):
        sound = self.sounds[index % len(self.sounds)]
        louder = sound * (1 + index % 3)
        return torch.from_numpy(self.spectrum(louder).astype(numpy.float32)), index % CLASSES


class Classifier(lightning.LightningModule):
    def __init__(self, clock):
        super().__init__()
        self.network = nn.Sequential(
            nn.Conv1d(LENGTH // FRAME, 32, 5, stride=2), nn.ReLU(),
            nn.AdaptiveAvgPool1d(8), nn.Flatten(), nn.Linear(256, CLASSES),
        )  # fmt: skip
        self.clock = clock

    def training_step(self, batch, number):
        sounds, labels = batch
        return nn.functional.cross_entropy(self.network(sounds), labels)

    def on_train_batch_end(self, *args):
        self.clock.step()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


def main():
    given = planted.arguments(__doc__, steps=200)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    clock = planted.StepTimer()
    loader = DataLoader(Sounds(given.steps, passes=6 if given.fixed else 12), BATCH, num_workers=1)
    with tempfile.TemporaryDirectory() as folder:
        lightning.Trainer(
            max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False,
            enable_progress_bar=False, enable_model_summary=False, default_root_dir=folder,
        ).fit(Classifier(clock), loader)  # fmt: skip
    clock.report()


if __name__ == "__main__":
    main()
