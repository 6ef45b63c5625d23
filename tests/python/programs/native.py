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

SIZE = 256  # of the batches, and of the rows of the matrices
FACTORS = numpy.random.default_rng(1).standard_normal((2, SIZE, 6 * SIZE))
PRODUCT = numpy.empty((6 * SIZE, SIZE))


def in_numpy():
    """One product of matrices, in the BLAS that NumPy brings. More calls would be more of the interpreter's time, and
    new memory that of the C library.
    """
    numpy.matmul(FACTORS[0].T, FACTORS[1][:, :SIZE], out=PRODUCT)
    return float(PRODUCT[0, 0])


def in_python():
    """Arithmetic of the interpreter."""
    value = 0.5
    for i in range(36_000):
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
    # The batches are ready: input is next to nothing.
    batches = [(torch.randn(SIZE, SIZE), torch.randn(SIZE, 1)) for _ in range(16)]
    loader = torch.utils.data.DataLoader(batches, batch_size=None)
    model = torch.nn.Sequential(
        torch.nn.Linear(SIZE, 768), torch.nn.ReLU(), torch.nn.Linear(768, 1)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    outside, whole, steps = 0.0, 0.0, 0
    began = time.perf_counter()
    while time.perf_counter() - began < arguments.seconds:
        for batch, target in loader:
            if steps == 10:  # what comes before is warm-up
                outside, start = 0.0, time.perf_counter()
            before = time.perf_counter()
            bias = compute()
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
