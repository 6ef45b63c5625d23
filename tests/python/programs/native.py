"""A training loop that computes outside PyTorch for about half of each step: in NumPy, or with --python in the
interpreter. Its last line is the shares that it measured itself.

usage: native.py [--python] [--seconds 6]
"""

import argparse
import json
import sys
import time

import numpy
import torch

SIZE = 256  # of the matrices


def in_numpy(batch, turns):
    """Products of matrices, in the BLAS that NumPy brings."""
    matrix = numpy.resize(batch.numpy(), (SIZE, SIZE)).astype(numpy.float64)
    for _ in range(turns):
        matrix = matrix @ matrix
        matrix /= numpy.abs(matrix).max() + 1.0
    return float(matrix[0, 0])


def in_python(batch, turns):
    """Arithmetic of the interpreter."""
    value = float(batch[0, 0])
    for i in range(turns * 6_000):
        value = (value * 1.0001 + i) % 97.0
    return value


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", action="store_true")
    parser.add_argument("--seconds", type=float, default=6)
    arguments = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    compute = in_python if arguments.python else in_numpy
    data = torch.utils.data.TensorDataset(torch.randn(4096, 256), torch.randn(4096, 1))
    # Takes whole batches out of the tensors: input is next to nothing.
    rows = torch.utils.data.SequentialSampler(data)
    batches = torch.utils.data.BatchSampler(rows, batch_size=256, drop_last=False)
    loader = torch.utils.data.DataLoader(data, sampler=batches, batch_size=None)
    model = torch.nn.Sequential(torch.nn.Linear(256, 768), torch.nn.ReLU(), torch.nn.Linear(768, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    outside, whole, steps = 0.0, 0.0, 0
    began = time.perf_counter()
    while time.perf_counter() - began < arguments.seconds:
        for batch, target in loader:
            if steps == 10:  # what comes before is warm-up
                outside, start = 0.0, time.perf_counter()
            before = time.perf_counter()
            bias = compute(batch, 6)
            outside += time.perf_counter() - before
            loss = torch.nn.functional.mse_loss(model(batch), target + bias % 1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            steps += 1
    whole = time.perf_counter() - start
    print(json.dumps({"outside": outside / whole, "step_ms": whole / (steps - 10) * 1e3}))


if __name__ == "__main__":
    sys.exit(main())
