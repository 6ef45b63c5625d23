#!/usr/bin/env python3
"""Inference with one production mistake, or without it, to show what `stepscope analyze` finds.

    mistakes.py --mistake grad      the calls record unneeded gradients  --fixed no_grad()
    mistakes.py --mistake train     the model is still in training mode  --fixed eval()
    mistakes.py --mistake single    one sentence per call                --fixed 16
    mistakes.py --mistake eager     a small model, op by op              --fixed TorchScript, frozen
    mistakes.py --mistake lengths   batches of sentences of all lengths  --fixed sorted by length
    mistakes.py --mistake item      each result is read separately       --fixed all at once

On a machine with a GPU also:

    mistakes.py --mistake pageable  batches in pageable memory           --fixed pinned, async copy
    mistakes.py --mistake sync      each result is read at once          --fixed at the end
    mistakes.py --mistake host      work after the model is on the CPU   --fixed on the GPU
    mistakes.py --mistake cudnn     cuDNN guesses the algorithm          --fixed benchmark
    mistakes.py --mistake idle      the model is on the CPU              --fixed on the GPU

    stepscope run -o run.db -- python3 mistakes.py --mistake grad
"""

import argparse
import contextlib
import random
import sys
import time

import torch
from torch.utils.data import DataLoader

import gpu_mistakes
from models import ConvNet, Encoder

try:
    import stepscope
except ImportError:  # optional: the marks give the true lengths of the sentences
    stepscope = None

LENGTH = 32  # of the sentences, except for --mistake lengths
BATCH = 16


def sentences(count, lengths):
    return [torch.randint(1, Encoder.WORDS, (next(lengths),)) for _ in range(count)]


def of_one_length():
    while True:
        yield LENGTH


def of_all_lengths():
    """Log-normal, as are the lengths of real sentences, roughly."""
    source = random.Random(1)
    while True:
        yield min(max(int(source.lognormvariate(3.2, 0.6)), 4), 128)


def batches_of(items, size):
    """Batches of `size` sentences, each padded with 0 to the longest of its batch."""
    return [
        torch.nn.utils.rnn.pad_sequence(items[at : at + size], batch_first=True)
        for at in range(0, len(items), size)
    ]


def grad(args):
    model = Encoder().eval()
    recording = torch.no_grad() if args.fixed else contextlib.nullcontext()
    batches = batches_of(sentences(args.calls * 4, of_one_length()), 4)
    return model, batches, {"around": recording}


def train(args):
    model = ConvNet()
    model.train(not args.fixed)
    return model, [torch.rand(BATCH, 3, 32, 32) for _ in range(args.calls)], {}


def single(args):
    items = sentences(args.calls, of_one_length())
    return Encoder().eval(), batches_of(items, BATCH if args.fixed else 1), {}


def eager(args):
    model = Encoder(width=16, heads=2, layers=8).eval()
    batches = batches_of(sentences(args.calls * 2, of_one_length()), 2)
    if args.fixed:
        model = torch.jit.freeze(torch.jit.trace(model, batches[0]))
    return model, batches, {}


def lengths(args):
    items = sentences(args.calls * BATCH, of_all_lengths())
    if args.fixed:
        items.sort(key=len, reverse=True)
    batches = batches_of(items, BATCH)
    random.Random(2).shuffle(batches)  # so that lengths do not change steadily over time
    return Encoder(layers=2).eval(), batches, {}


def sure_labels(read):
    return [label if score > 0 else None for score, label in read]


def item(args):
    def one_by_one(logits):
        scores, labels = logits.max(dim=1)
        return sure_labels((score.item(), label.item()) for score, label in zip(scores, labels))

    def all_at_once(logits):
        scores, labels = logits.max(dim=1)
        return sure_labels(zip(scores.tolist(), labels.tolist()))

    batches = batches_of(sentences(args.calls * 64, of_one_length()), 64)
    model = Encoder(width=16, heads=1, layers=1).eval()
    return model, batches, {"labels_of": all_at_once if args.fixed else one_by_one}


MISTAKES = {rule.__name__: rule for rule in (grad, train, single, eager, lengths, item)}


def first_labels(logits):
    return logits.argmax(dim=1).tolist()


def serve(model, batches, labels_of=first_labels, around=None):
    """Returns how many sentences got each label."""
    seen = {}
    with around or torch.no_grad():
        for batch in DataLoader(batches, batch_size=None):
            if batch.dtype == torch.int64 and stepscope:
                stepscope.lengths((batch != 0).sum(dim=1).tolist())
            for label in labels_of(model(batch)):
                seen[label] = seen.get(label, 0) + 1
    return seen


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mistake", choices=[*MISTAKES, *gpu_mistakes.MISTAKES], required=True)
    parser.add_argument("--fixed", action="store_true", help="without the mistake")
    parser.add_argument(
        "--calls",
        type=int,
        default=320,
        help="calls of the program with the mistake; the fixed one processes as many samples",
    )
    return parser.parse_args()


def serve_sentences(args):
    model, batches, options = MISTAKES[args.mistake](args)
    start = time.perf_counter()
    seen = serve(model, batches, **options)
    seconds = time.perf_counter() - start
    print(
        f"{sum(seen.values())} samples in {len(batches)} calls, {1e3 * seconds / len(batches):.2f} ms each,"
        f" {sum(seen.values()) / seconds:.0f} samples/s"
    )


def serve_on_gpu(args):
    if not torch.cuda.is_available():
        sys.exit(f"mistakes.py: --mistake {args.mistake} needs a GPU, and this PyTorch sees none")
    program = gpu_mistakes.MISTAKES[args.mistake](args)
    start = time.perf_counter()
    gpu_mistakes.serve(*program)
    seconds = time.perf_counter() - start
    print(f"{args.calls} calls, {1e3 * seconds / args.calls:.2f} ms each")


def main():
    args = arguments()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    (serve_on_gpu if args.mistake in gpu_mistakes.MISTAKES else serve_sentences)(args)


if __name__ == "__main__":
    main()
