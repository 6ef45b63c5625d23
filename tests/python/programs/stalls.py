"""Loops that stall by a known share of their time, one after the other, each on a thread of its own.

A cell is PLACE-KIND-STEP_MS-PERCENT, such as loader-busy-5-35: where the waits are (below), sleep or busy, how long a
step is with its wait, and the percentage of the total time that is spent waiting.

loader       each batch of a DataLoader
outside      the same; a labelled scope surrounds the training only, and the wait is outside it
generator    batches from a plain generator
numpy        batches that are cut out of a NumPy array and scaled
evaluation   the stalls are in a loader of held-out data, which is used every 25 steps
epochs       a DataLoader with a worker that is started anew each epoch of 20 steps, and is slow to start
every20      every 20th batch of a DataLoader
"""

import threading
import time

import numpy
import own
import small
import torch
from torch.utils.data import DataLoader, Dataset

EPOCH, EVALUATION, HELD_OUT = 20, 25, 5
STEPS = {1: 240, 5: 120, 30: 30, 100: 24}


class Batches(Dataset):
    """`count` batches, of which number i stalls for stall_ms(i)."""

    def __init__(self, count, kind, stall_ms):
        self._count, self._kind, self._stall_ms = count, kind, stall_ms
        self._batch = torch.randn(16, 64), torch.randint(0, small.CLASSES, (16,))

    def __len__(self):
        return self._count

    def __getitem__(self, index):
        if index == self._count:
            raise IndexError
        if (milliseconds := self._stall_ms(index)) > 0:
            small.stall(self._kind, milliseconds)
        return self._batch


def load(count, kind, stall_ms, **options):
    return DataLoader(Batches(count, kind, stall_ms), batch_size=None, **options)


class Loop:
    def __init__(self, cell, stopwatch):
        place, kind, step_ms, percent = cell.split("-")
        self.place, self.kind, self.stopwatch = place, kind, stopwatch
        self.step_ms, self.stall_ms = int(step_ms), int(step_ms) * int(percent) / 100
        self.steps = STEPS[self.step_ms]
        self.network = torch.nn.Sequential(
            torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, small.CLASSES)
        )
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=1e-3, foreach=False)
        self.factor = torch.randn(160, 160)

    def run(self):
        for batch in getattr(self, self.place)():
            if self.place == "outside":
                with torch.profiler.record_function("training step"):
                    self.train(batch)
            else:
                self.train(batch)

    def train(self, batch):
        """A training step, and products of matrices until it has taken its time."""
        until = time.perf_counter_ns() + 1e6 * (self.step_ms - self.stall_ms)
        features, labels = batch
        self.optimizer.zero_grad()
        small.loss_of(self.network(features), labels).backward()
        with torch.no_grad():
            while time.perf_counter_ns() < until:
                torch.mm(self.factor, self.factor)
        self.stopwatch.update(self.optimizer.step)

    # --- where the batches come from -----------------------------------------------------------

    def loader(self):
        return self.stopwatch.batches(load(self.steps, self.kind, lambda _: self.stall_ms))

    outside = loader

    def generator(self):
        def read():
            batch = torch.randn(16, 64), torch.randint(0, small.CLASSES, (16,))
            for _ in range(self.steps):
                small.stall(self.kind, self.stall_ms)
                yield batch

        return self.stopwatch.batches(read())

    def numpy(self):
        def read():
            samples = numpy.random.default_rng(1).integers(0, 255, (1024, 64), dtype=numpy.uint8)
            labels = torch.randint(0, small.CLASSES, (16,))
            for step in range(self.steps):
                until = time.perf_counter_ns() + 1e6 * self.stall_ms
                while time.perf_counter_ns() < until:
                    rows = numpy.arange(16 * step, 16 * step + 16) % 1024
                    features = samples[rows].astype(numpy.float32) / 255
                yield torch.from_numpy(features), labels

        return self.stopwatch.batches(read())

    def evaluation(self):
        held_out = load(HELD_OUT, self.kind, lambda _: self.stall_ms * EVALUATION / HELD_OUT)
        batches = load(self.steps, self.kind, lambda _: 0)
        for number, batch in enumerate(self.stopwatch.batches(batches), 1):
            yield batch
            if number % EVALUATION == 0:
                with self.stopwatch.segment("evaluation"), torch.no_grad():
                    for features, _ in self.stopwatch.batches(held_out, trains=False):
                        self.network(features)

    def epochs(self):
        def start(_):
            small.stall(self.kind, self.stall_ms * EPOCH)

        for _ in range(self.steps // EPOCH):
            yield from self.stopwatch.batches(
                load(EPOCH, self.kind, lambda _: 0, num_workers=1, worker_init_fn=start)
            )

    def every20(self):
        return self.stopwatch.batches(
            load(
                self.steps,
                self.kind,
                lambda index: self.stall_ms * EPOCH if index % EPOCH == EPOCH - 1 else 0,
            )
        )


def run_cell(given, cell):
    stopwatch = own.Stopwatch(given.own and f"{given.own}.{cell}")
    Loop(cell, stopwatch).run()
    stopwatch.save(tid=threading.get_native_id())


def main(given):
    small.prepare()
    for cell in given.cells.split(","):
        thread = threading.Thread(target=run_cell, args=(given, cell), name=cell)
        thread.start()
        thread.join()


if __name__ == "__main__":
    main(own.arguments(__doc__, cells="loader-sleep-5-35"))
