"""Trains a small GPT in the way of nanoGPT: batches from a memory-mapped file, fetched between the
forward and the backward pass; gradient accumulation, autocast to bfloat16, clipped gradients, a
decaying learning rate, and an evaluation and a checkpoint every 25 updates.

    stepscope run -o run.db -- python3 nano_gpt.py --timers timers.json

get_batch() is the program's own function, so only its mark shows that it waits for input.
"""

import math
import os
import tempfile
import time

import numpy
import timers
import torch
from torch import nn

try:
    from stepscope import input as waits_for_input
except ImportError:  # neither installed nor wrapped

    def waits_for_input(function):
        return function


BLOCK, BATCH, VOCABULARY, WIDTH, HEADS, LAYERS = 64, 8, 256, 128, 4, 3
ACCUMULATE, EVALUATE_EVERY, EVALUATION_BATCHES = 4, 25, 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.project = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.feed = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x):
        heads = [
            part.view(*part.shape[:2], HEADS, -1).transpose(1, 2)
            for part in self.qkv(self.norm1(x)).split(WIDTH, dim=2)
        ]
        attended = nn.functional.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.project(attended.transpose(1, 2).reshape(x.shape))
        return x + self.feed(self.norm2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(BLOCK, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens, targets):
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))
        logits = self.head(self.norm(self.blocks(x)))
        return nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


class Corpus:
    """Made-up text on disk. A read takes `read_ms` longer than from a local disk."""

    def __init__(self, folder, read_ms):
        self.read_ms = read_ms
        self.paths = {}
        for split, length in ("train", 200_000), ("val", 20_000):
            self.paths[split] = os.path.join(folder, split + ".bin")
            generator = numpy.random.default_rng(length)
            text = numpy.cumsum(generator.integers(0, 3, length)) % VOCABULARY
            text.astype(numpy.uint16).tofile(self.paths[split])

    def batch(self, split):
        data = numpy.memmap(self.paths[split], dtype=numpy.uint16, mode="r")
        starts = torch.randint(len(data) - BLOCK - 1, (BATCH,)).tolist()
        rows = [torch.from_numpy(data[at : at + BLOCK + 1].astype(numpy.int64)) for at in starts]
        time.sleep(self.read_ms / 1e3)
        rows = torch.stack(rows)
        return rows[:, :-1], rows[:, 1:]


def learning_rate(update, updates):
    return 1e-3 * min((update + 1) / 10, 0.5 * (1 + math.cos(math.pi * update / updates)))


def main(given):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    timed = timers.Timers(given.timers)
    model = GPT()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    scaler = torch.amp.GradScaler("cpu", enabled=False)  # bfloat16 needs no scaling
    context = torch.autocast("cpu", dtype=torch.bfloat16)
    with tempfile.TemporaryDirectory() as folder:
        corpus = Corpus(folder, given.read_ms)
        fetch = waits_for_input(corpus.batch)

        def get_batch(split):
            return timed.wait(lambda: fetch(split), trains=split == "train")

        @torch.no_grad()
        def estimate_loss():
            model.eval()
            losses = []
            for _ in range(EVALUATION_BATCHES):
                tokens, targets = get_batch("val")
                with context:
                    losses.append(model(tokens, targets).item())
            model.train()
            return sum(losses) / len(losses)

        tokens, targets = get_batch("train")
        for update in range(given.updates):
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(update, given.updates)
            if update % EVALUATE_EVERY == 0:
                loss = timed.segment("evaluation", estimate_loss)
                print(f"update {update}: loss {loss:.4f}")
                path = os.path.join(folder, "checkpoint.pt")
                timed.segment("checkpoint", lambda: torch.save(model.state_dict(), path))
            for _ in range(ACCUMULATE):
                with context:
                    loss = timed.phase("forward", lambda: model(tokens, targets)) / ACCUMULATE
                tokens, targets = get_batch("train")
                timed.phase("backward", scaler.scale(loss).backward)
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            timed.update(lambda: scaler.step(optimizer))
            scaler.update()
            timed.phase("zero_grad", optimizer.zero_grad)
    timed.save(batches_per_step=ACCUMULATE)


if __name__ == "__main__":
    main(timers.arguments(__doc__, updates=80, read_ms=2.0))
