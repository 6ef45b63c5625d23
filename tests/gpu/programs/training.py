"""A training loop on a GPU, with what such loops have: copies from pageable or pinned memory, loader workers,
mixed precision, a second stream, a CUDA graph. Prints the loss, so that two runs can be compared.
"""

import argparse
import contextlib
import pathlib
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--model", choices=["mlp", "resnet50"], default="mlp")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument(
        "--pinned", action="store_true", help="copies from pinned memory, which do not block"
    )
    parser.add_argument("--amp", action="store_true", help="bfloat16 where autocast says so")
    parser.add_argument(
        "--second-stream", action="store_true", help="copies on a stream of their own"
    )
    parser.add_argument("--graph", action="store_true", help="the whole step as a CUDA graph")
    parser.add_argument(
        "--kernels", help="run under torch.profiler, and write its kernels here, as JSON"
    )
    parser.add_argument(
        "--profiler", action="store_true", help="run under torch.profiler, to see what that costs"
    )
    parser.add_argument(
        "--seconds", help="write what a step takes here, without the first third of the steps"
    )
    return parser.parse_args()


def make(given):
    torch.manual_seed(0)
    torch.backends.cudnn.deterministic = True
    if given.model == "resnet50":
        from torchvision.models import resnet50

        return resnet50(), (3, 224, 224)
    return nn.Sequential(
        nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 1000)
    ), (1024,)


class Step:
    """One step of training on a batch that is on the device."""

    def __init__(self, given, network):
        self._amp = given.amp
        self._device = given.device
        self._network = network
        self._optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)

    def __call__(self, images, labels):
        self._optimizer.zero_grad(set_to_none=False)
        with torch.autocast(self._device, dtype=torch.bfloat16, enabled=self._amp):
            loss = nn.functional.cross_entropy(self._network(images), labels)
        loss.backward()
        self._optimizer.step()
        return loss.detach()


class GraphStep:
    """The same, recorded once on batches of one size and then replayed."""

    def __init__(self, step, images, labels):
        self._images, self._labels = images.clone(), labels.clone()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                step(self._images, self._labels)
        torch.cuda.current_stream().wait_stream(side)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._loss = step(self._images, self._labels)

    def __call__(self, images, labels):
        self._images.copy_(images)
        self._labels.copy_(labels)
        self._graph.replay()
        return self._loss


class Clock:
    """Seconds a step, of the last two thirds of the steps."""

    def __init__(self, given):
        self._given, self._steps, self._begin = given, 0, None

    def _now(self):
        if self._given.device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()

    def begin_step(self):
        if self._given.seconds and self._steps == self._given.steps // 3:
            self._begin = self._now()
        self._steps += 1

    def end(self):
        if self._begin is not None:
            seconds = (self._now() - self._begin) / (self._given.steps - self._given.steps // 3)
            pathlib.Path(self._given.seconds).write_text(str(seconds))


def on_device(given, stream, batch):
    if stream is None:
        return [part.to(given.device, non_blocking=given.pinned) for part in batch]
    with torch.cuda.stream(stream):
        parts = [part.to(given.device, non_blocking=given.pinned) for part in batch]
    torch.cuda.current_stream().wait_stream(stream)
    for part in parts:
        part.record_stream(torch.cuda.current_stream())
    return parts


def train(given):
    network, shape = make(given)
    step = Step(given, network.to(given.device))
    count = given.steps * given.batch
    samples = TensorDataset(
        torch.randn(given.batch, *shape).repeat(given.steps, *[1] * len(shape)),
        torch.arange(count) % 1000,
    )
    loader = DataLoader(samples, given.batch, num_workers=given.workers, pin_memory=given.pinned)
    stream = torch.cuda.Stream() if given.second_stream else None
    clock = Clock(given)
    for images, labels in loader:
        clock.begin_step()
        images, labels = on_device(given, stream, (images, labels))
        if given.graph and not isinstance(step, GraphStep):
            step = GraphStep(step, images, labels)
        loss = step(images, labels)
    clock.end()
    return float(loss)


def profiled(given):
    if given.kernels:
        import kineto

        return kineto.kernels_to(given.kernels)
    return torch.profiler.profile() if given.profiler else contextlib.nullcontext()


def main(given):
    with profiled(given):
        loss = train(given)
    print(f"loss {loss:.2f}")


if __name__ == "__main__":
    main(arguments())
