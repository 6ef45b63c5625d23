"""Trains a small residual network on a folder of JPEG files, like a typical classifier: random
crops and flips, a loader with or without workers, and after each epoch an evaluation on other files
and a checkpoint.

    stepscope run -o run.db -- python3 image_folder.py --workers 2 --timers timers.json
"""

import pathlib
import tempfile

import numpy
import timers
import torch
from PIL import Image, ImageOps
from torch import nn
from torch.utils.data import DataLoader, Dataset

CLASSES, STORED, SIZE, BATCH = 4, 128, 64, 8


def make_images(root, images):
    """Made-up photographs, in a folder for each class."""
    random = numpy.random.default_rng(images)
    for number in range(images):
        folder = root / f"class{number % CLASSES}"
        folder.mkdir(parents=True, exist_ok=True)
        coarse = random.integers(0, 255, (8, 8, 3), numpy.uint8)
        Image.fromarray(coarse).resize((STORED, STORED)).save(folder / f"{number}.jpg", quality=90)


class ImageFolder(Dataset):
    """Like torchvision's ImageFolder, which need not be installed."""

    def __init__(self, root, transform):
        self.transform = transform
        self.samples = [
            (path, int(path.parent.name.removeprefix("class")))
            for path in sorted(root.glob("*/*.jpg"))
        ]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        with Image.open(path) as image:
            return self.transform(image.convert("RGB")), label


def to_tensor(image):
    return torch.from_numpy(numpy.array(image)).permute(2, 0, 1) / 127.5 - 1


def augment(image):
    edge = int(torch.randint(SIZE, STORED + 1, ()))
    x, y = torch.randint(STORED - edge + 1, (2,)).tolist()
    image = image.crop((x, y, x + edge, y + edge)).resize((SIZE, SIZE), Image.Resampling.BILINEAR)
    return to_tensor(ImageOps.mirror(image) if torch.rand(()) < 0.5 else image)


def shrink(image):
    return to_tensor(image.resize((SIZE, SIZE), Image.Resampling.BILINEAR))


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
        )

    def forward(self, x):
        return torch.relu(x + self.layers(x))


def network():
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(), Residual(16),
        nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(), Residual(32),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, CLASSES),
    )  # fmt: skip


@torch.no_grad()
def accuracy(model, batches):
    model.eval()
    right = sum((model(images).argmax(1) == labels).sum().item() for images, labels in batches)
    model.train()
    return right / len(batches.dataset)


def main(given):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    timed = timers.Timers(given.timers)
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    trains = [True]
    timed.watch(optimizer, lambda: trains[0])
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        make_images(root / "train", given.images)
        make_images(root / "val", 6 * BATCH)
        training = DataLoader(
            ImageFolder(root / "train", augment), BATCH, shuffle=True, num_workers=given.workers
        )
        held_out = DataLoader(ImageFolder(root / "val", shrink), BATCH)
        for epoch in range(given.epochs):
            for images, labels in training:
                optimizer.zero_grad()
                scores = timed.phase("forward", lambda: model(images))
                nn.functional.cross_entropy(scores, labels).backward()
                optimizer.step()
            trains[0] = False
            found = timed.segment("evaluation", lambda: accuracy(model, held_out))
            trains[0] = True
            print(f"epoch {epoch}: accuracy {found:.2f}")
            path = root / "checkpoint.pt"
            timed.segment("checkpoint", lambda: torch.save(model.state_dict(), path))
    timed.save(batches_per_step=1)


if __name__ == "__main__":
    main(timers.arguments(__doc__, workers=0, epochs=3, images=320))
