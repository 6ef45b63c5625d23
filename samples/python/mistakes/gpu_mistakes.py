"""The mistakes that need a GPU."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from models import ConvNet

DEVICE = "cuda"
DISTINCT = 8  # batches, which are reused


class Served(Dataset):
    """Batches for `calls` calls, each prepared on the CPU by `prepare`."""

    def __init__(self, batches, calls, prepare=None):
        self.batches, self.calls, self.prepare = batches, calls, prepare

    def __len__(self):
        return self.calls

    def __getitem__(self, call):
        batch = self.batches[call % len(self.batches)]
        return self.prepare(batch) if self.prepare else batch


def dense(width, layers):
    return nn.Sequential(
        *(layer for _ in range(layers) for layer in (nn.Linear(width, width), nn.ReLU()))
    ).eval()


def to_device(batch):
    return batch.to(DEVICE, non_blocking=True)


def pageable(args):
    """Batches of 32 MB in pageable memory: the copying call waits."""
    model = dense(2048, 4).to(DEVICE)
    batches = [torch.rand(4096, 2048) for _ in range(DISTINCT)]
    if args.fixed:
        batches = [batch.pin_memory() for batch in batches]
    return (
        Served(batches, args.calls),
        lambda batch: model(batch.to(DEVICE, non_blocking=args.fixed)).amax(),
        False,
    )


def sync(args):
    """Each result is read at once: the GPU is idle while the CPU prepares the next batch."""
    model = dense(4096, 8).to(DEVICE)
    batches = [torch.randint(0, 256, (1024, 4096), dtype=torch.uint8) for _ in range(DISTINCT)]

    def prepare(batch):
        return (batch / 255).pin_memory()

    return (
        Served(batches, args.calls, prepare),
        lambda batch: model(to_device(batch)).amax(),
        not args.fixed,
    )


def host(args):
    """The work after the model still runs on the CPU."""
    model = dense(4096, 4).to(DEVICE)
    batches = [torch.rand(512, 4096).pin_memory() for _ in range(DISTINCT)]

    def call(batch):
        scores = model(to_device(batch))
        if not args.fixed:
            scores = scores.cpu()
        return scores.sort(dim=1, descending=True).values[:, :5].sum()

    return Served(batches, args.calls), call, True


def cudnn(args):
    """Convolutions of a single shape, with the algorithm that cuDNN guesses."""
    torch.backends.cudnn.benchmark = args.fixed
    model = ConvNet(width=128, blocks=6).to(DEVICE).eval()
    batches = [torch.rand(64, 3, 32, 32).pin_memory() for _ in range(DISTINCT)]
    return Served(batches, args.calls), lambda batch: model(to_device(batch)).amax(), True


def idle(args):
    """The model was never moved to the GPU."""
    device = DEVICE if args.fixed else "cpu"
    model = ConvNet().to(device).eval()
    batches = [torch.rand(16, 3, 32, 32) for _ in range(DISTINCT)]
    return Served(batches, args.calls), lambda batch: model(batch.to(device)).amax(), True


MISTAKES = {rule.__name__: rule for rule in (pageable, sync, host, cudnn, idle)}


def serve(batches, call, read_each):
    """Returns the sum of the results, read after each call or once at the end."""
    total = 0
    with torch.no_grad():
        for batch in DataLoader(batches, batch_size=None):
            result = call(batch)
            total = total + (result.item() if read_each else result)
    return float(total)
