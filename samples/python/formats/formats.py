#!/usr/bin/env python3
"""Calls a transformer encoder repeatedly, with eager PyTorch, TorchScript or ONNX Runtime, and
reports the time per call.

Examples:
  formats.py --format torchscript --batch 4 --length 64
  stepscope run -o eager.db -- python formats.py
  stepscope sweep -o grid.db -p batch=1,8 -p length=8,64,128 -p format=eager,torchscript,onnx \\
    -- python formats.py --batch {batch} --length {length} --format {format}

Needs torch; --format onnx also onnx, onnxscript and onnxruntime (pip install onnx onnxscript onnxruntime).
"""

import argparse
import contextlib
import io
import logging
import pathlib
import sys
import tempfile
import time
import warnings

import torch
from torch import nn

try:
    import stepscope  # available under `stepscope run`
except ImportError:
    stepscope = None

HEADS = 4
VOCABULARY = 8000
WARM_UP = 10  # calls: TorchScript compiles in the third; memory is touched for the first time


class Layer(nn.Module):
    """A pre-norm encoder layer, written out so that all formats compute the same ops."""

    def __init__(self, width: int):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = (
            self.qkv(self.norm1(x))
            .view(batch, length, 3, HEADS, width // HEADS)
            .permute(2, 0, 3, 1, 4)
            .unbind(0)
        )
        scores = torch.softmax(q @ k.transpose(2, 3) * (width // HEADS) ** -0.5, -1)
        x = x + self.out((scores @ v).transpose(1, 2).reshape(batch, length, width))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Encoder(nn.Module):
    """Maps tokens [batch, length] to the encoding of the first token [batch, width]."""

    def __init__(self, width: int, layers: int, longest: int):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.positions = nn.Embedding(longest, width)
        self.layers = nn.Sequential(*(Layer(width) for _ in range(layers)))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        return self.layers(self.tokens(tokens) + self.positions(positions))[:, 0]


def eager(model, example):
    return model


def torchscript(model, example):
    return torch.jit.freeze(torch.jit.trace(model, example))


def onnx(model, example):
    """ONNX Runtime with as many threads as torch. Its ops are not libtorch's, so only its calls are
    recorded."""
    try:
        import onnxruntime
        import onnxscript  # noqa: F401  needed by torch.onnx.export()
    except ImportError as missing:
        sys.exit(
            f"formats.py: --format onnx needs {missing.name} (pip install onnx onnxscript onnxruntime)"
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    logging.getLogger("torch.onnx").setLevel(
        logging.ERROR
    )  # it warns about each missing optional package
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.redirect_stdout(io.StringIO()),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        path = pathlib.Path(folder, "encoder.onnx")
        torch.onnx.export(model, (example,), str(path), input_names=["tokens"])
        session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
    return lambda tokens: torch.from_numpy(session.run(None, {"tokens": tokens.numpy()})[0])


FORMATS = {"eager": eager, "torchscript": torchscript, "onnx": onnx}


@torch.no_grad()
def serve(options):
    """Returns the seconds of each call, and the sum of all outputs."""

    def request():
        return torch.randint(VOCABULARY, (options.batch, options.length))

    model = Encoder(options.width, options.layers, options.length).eval()
    call = FORMATS[options.format](model, request())
    for _ in range(WARM_UP):
        call(request())
    took, total = [], 0.0
    torch.manual_seed(options.seed)  # seed again: making a format may draw random numbers
    for _ in range(options.calls):
        begin = time.perf_counter()
        total += float(call(request()).sum())
        if stepscope:
            stepscope.step()
        took.append(time.perf_counter() - begin)
    return took, total


def percentile_ms(took, share):
    return 1e3 * sorted(took)[min(len(took) - 1, int(share * len(took)))]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--format", choices=FORMATS, default="eager")
    parser.add_argument("--batch", type=int, default=1, help="sequences per call (1)")
    parser.add_argument("--length", type=int, default=32, help="tokens per sequence (32)")
    parser.add_argument(
        "--width", type=int, default=128, help=f"embedding width, a multiple of {HEADS} (128)"
    )
    parser.add_argument("--layers", type=int, default=4, help="layers of the encoder (4)")
    parser.add_argument("--calls", type=int, default=200, help="how many calls to measure (200)")
    parser.add_argument("--threads", type=int, default=1, help="threads per op (1)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for name in ("batch", "length", "width", "layers", "calls", "threads"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} must be at least 1")
    if options.width % HEADS:
        parser.error(f"--width must be a multiple of {HEADS}")
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    took, total = serve(options)
    mean = sum(took) / len(took)
    print(
        f"{options.calls} calls of {options.batch} x {options.length} tokens: mean {1e3 * mean:.3f} ms   "
        f"p50 {percentile_ms(took, 0.5):.3f}   p90 {percentile_ms(took, 0.9):.3f}   p99 {percentile_ms(took, 0.99):.3f}"
    )
    print(f"{options.batch / mean:.0f} sequences/s   (outputs sum to {total:.2f})")


if __name__ == "__main__":
    main()
