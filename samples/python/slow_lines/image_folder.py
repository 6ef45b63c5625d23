"""A small convolutional network on a folder of JPEG files, with transforms in two workers.

    stepscope run -o run.db -- python3 image_folder.py

The slow line is a transform that smooths the image.
"""

import pathlib
import tempfile

import numpy
import planted
import torch
from PIL import Image, ImageFilter, ImageOps
from torch import nn
from torch.utils.data import DataLoader, Dataset

CLASSES, IMAGES, STORED, SIZE, BATCH = 4, 64, 160, 64, 8


def make_images(root):
    """Made-up photographs, in a folder for each class."""
    random = numpy.random.default_rng(0)
    for number in range(IMAGES):
        folder = root / f"class{number % CLASSES}"
        folder.mkdir(exist_ok=True)
        coarse = random.integers(0, 255, (8, 8, 3), numpy.uint8)
        Image.fromarray(coarse).resize((STORED, STORED)).save(folder / f"{number}.jpg", quality=90)


class Folder(Dataset):
    """Like torchvision's ImageFolder, which need not be installed. Each epoch uses every file
    `times` times."""

    def __init__(self, root, transform, times):
        self.samples = [
            (path, int(path.parent.name.removeprefix("class")))
            for path in sorted(root.glob("*/*.jpg"))
        ] * times
        self.transform = transform

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        with Image.open(path) as image:
            return self.transform(image.convert("RGB")), label


class Transform:
    def __init__(self, passes):
        self.passes = passes

    def __call__(self, image):
        image = ImageOps.mirror(image) if torch.rand(()) < 0.5 else image
        image = self.smooth(image)
        image = image.resize((SIZE, SIZE), Image.Resampling.BILINEAR)
        return torch.from_numpy(numpy.array(image)).permute(2, 0, 1) / 255

    def smooth(self, image):
        for _ in range(self.passes):
            image = image.filter(ImageFilter.GaussianBlur(2))  # the slow line
        return image


def main():
    given = planted.arguments(__doc__, times=25)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        make_images(root)
        transform = Transform(passes=2 if given.fixed else 4)
        loader = DataLoader(
            Folder(root, transform, given.times), BATCH, shuffle=True, num_workers=2
        )
        network = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, CLASSES),
        )  # fmt: skip
        optimizer = torch.optim.SGD(network.parameters(), lr=0.05)
        clock = planted.StepTimer()
        for images, labels in loader:
            loss = nn.functional.cross_entropy(network(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            clock.step()
        clock.report()


if __name__ == "__main__":
    main()
