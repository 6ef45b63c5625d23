#!/usr/bin/env python3
"""Measures what CUPTI costs a PyTorch loop, by what is recorded and how buffers are delivered.

    bench/gpu/cupti_cost.py [--rounds 3] [--out cupti.json]

Needs a GPU, gcc, torchvision and the headers of CUPTI (a CUDA toolkit). Each way is switched on and off
around stretches of the same loops in one process, in turns; figures are medians over the rounds. docs/device.md
has the figures of an H200.
"""

import argparse
import ctypes
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import torch
from torch import nn

HERE = pathlib.Path(__file__).resolve().parent
# with_calls, without_queries, period_ms, buffers, KiB of each
WAYS = {
    "off": None,
    "all calls, period 1 s": (1, 0, 1000, 16, 1024),
    "all calls": (1, 0, 0, 16, 1024),
    "without queries": (1, 1, 0, 16, 1024),
    "without queries, 128 x 256 KiB": (1, 1, 0, 128, 256),
    "no calls": (0, 0, 0, 16, 1024),
}


def trainer(network, shape, batch):
    network = network.cuda()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
    samples, labels = torch.randn(batch, *shape).pin_memory(), torch.arange(batch).pin_memory()

    def step():
        there = samples.to("cuda", non_blocking=True), labels.to("cuda", non_blocking=True)
        optimizer.zero_grad(set_to_none=False)
        nn.functional.cross_entropy(network(there[0]), there[1]).backward()
        optimizer.step()

    return step


def loops():
    """Name: (one step, how many make a stretch)."""
    from torchvision.models import resnet50

    torch.manual_seed(0)
    layers = (
        nn.Linear(1024, 4096),
        nn.ReLU(),
        nn.Linear(4096, 4096),
        nn.ReLU(),
        nn.Linear(4096, 1000),
    )
    values = torch.zeros(64, device="cuda")

    def tiny():
        for _ in range(1000):
            values.add_(1)

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        tiny()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        tiny()
    return {
        "mlp": (trainer(nn.Sequential(*layers), (1024,), 1), 600),
        "resnet50": (trainer(resnet50(), (3, 224, 224), 16), 30),
        "1,000 tiny kernels": (tiny, 60),
        "graph of 1,000 kernels": (graph.replay, 200),
    }


def load_probe(folder):
    nvidia = pathlib.Path(torch.__file__).parents[1] / "nvidia"
    library = next(nvidia.glob("*/lib/libcupti.so.*"))
    ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
    built = pathlib.Path(folder) / "probe.so"
    headers = [
        library.parents[1] / "include",
        "/usr/local/cuda/include",
        "/usr/local/cuda/extras/CUPTI/include",
    ]
    subprocess.run(
        [
            "gcc",
            "-O2",
            "-shared",
            "-fPIC",
            *(f"-I{path}" for path in headers),
            "-o",
            built,
            HERE / "cupti_probe.c",
        ],
        check=True,
    )
    return ctypes.CDLL(str(built))


def stretch(step, count):
    """Seconds a step."""
    for _ in range(2):
        step()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(count):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / count


def measure(probe, made, rounds):
    """Seconds a step, and what CUPTI delivered, of each stretch; by loop and way."""
    seconds, counts = {}, {}
    for _ in range(rounds):
        for loop, (step, count) in made.items():
            for way, options in WAYS.items():
                if options:
                    probe.probe_begin(*options)
                seconds.setdefault((loop, way), []).append(stretch(step, count))
                if options:
                    seen = (ctypes.c_long * 4)()
                    probe.probe_end(seen)
                    counts.setdefault((loop, way), []).append(list(seen))
    return seconds, counts


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=pathlib.Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        probe = load_probe(folder)
        made = loops()
        for step, _ in made.values():
            stretch(step, 5)
        if result := probe.probe_init():
            raise SystemExit(f"CUPTI refuses: {result}")
        seconds, counts = measure(probe, made, given.rounds)
    rows = []
    for (loop, way), times in seconds.items():
        step, off = statistics.median(times), statistics.median(seconds[loop, "off"])
        row = {"loop": loop, "way": way, "step_us": 1e6 * step, "slower": step / off - 1}
        if (loop, way) in counts:
            names = ("delivered", "delivered_bytes", "most_held", "dropped")
            row |= dict(zip(names, map(list, zip(*counts[loop, way]))))
        rows.append(row)
        print(
            f"{loop:24} {way:32} {row['step_us']:10.1f} us {row['slower']:+7.1%}  dropped {row.get('dropped', '')}"
        )
    if given.out:
        machine = {
            "gpu": torch.cuda.get_device_name(),
            "torch": torch.__version__,
            "cuda": torch.version.cuda,
        }
        given.out.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
