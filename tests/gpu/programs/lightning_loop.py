"""A small network under the Lightning Trainer."""

import argparse

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Network(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 10))

    def training_step(self, batch, index):
        samples, labels = batch
        return nn.functional.cross_entropy(self.layers(samples), labels)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


def main(device):
    samples = TensorDataset(torch.randn(32 * 40, 256), torch.randint(0, 10, (32 * 40,)))
    trainer = lightning.Trainer(
        max_epochs=1,
        accelerator="gpu" if device == "cuda" else "cpu",
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Network(), DataLoader(samples, 32))
    print("trained")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    main(parser.parse_args().device)
