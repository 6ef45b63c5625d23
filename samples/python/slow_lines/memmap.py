"""A small language model on a memory-mapped file, in the way of nanoGPT: no DataLoader, and two
batches per update.

    stepscope run -o run.db -- python3 memmap.py

The slow line unpacks a piece of the file.
"""

import os
import tempfile
import zlib

import numpy
import planted
import torch
from torch import nn

BLOCK, BATCH, VOCABULARY, WIDTH, ACCUMULATE = 64, 8, 256, 64, 2
PIECE = 40_000  # bytes of text in a packed piece


def write_corpus(path, pieces):
    """Packed pieces of made-up text, each in a slot of the same size."""
    random = numpy.random.default_rng(0)
    packed = [
        zlib.compress(random.integers(97, 117, PIECE).astype(numpy.uint8).tobytes(), 1)
        for _ in range(pieces)
    ]
    slot = max(map(len, packed))
    with open(path, "wb") as file:
        for piece in packed:
            file.write(piece.ljust(slot, b"\0"))
    return slot


class Corpus:
    def __init__(self, path, slot, passes):
        self.data = numpy.memmap(path, dtype=numpy.uint8, mode="r").reshape(-1, slot)
        self.passes = passes

    def unpack(self, number):
        packed = self.data[number].tobytes()
        for _ in range(self.passes):
            text = zlib.decompressobj().decompress(packed)  # the slow line
        return numpy.frombuffer(text, numpy.uint8)

    def get_batch(self):
        rows = []
        for number in torch.randint(len(self.data), (BATCH,)).tolist():
            text = self.unpack(number)
            start = int(torch.randint(PIECE - BLOCK - 1, ()))
            rows.append(torch.from_numpy(text[start : start + BLOCK + 1].astype(numpy.int64)))
        tokens = torch.stack(rows)
        return tokens[:, :-1], tokens[:, 1:]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.mix = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens, targets):
        logits = self.head(self.mix(self.tokens(tokens))[0])
        return nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def main():
    given = planted.arguments(__doc__, updates=150)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "corpus.bin")
        corpus = Corpus(path, write_corpus(path, 32), passes=3 if given.fixed else 6)
        model = Model()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        clock = planted.StepTimer()
        for _ in range(given.updates):
            for _ in range(ACCUMULATE):
                tokens, targets = corpus.get_batch()
                loss = model(tokens, targets) / ACCUMULATE
                loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            clock.step()
        clock.report()


if __name__ == "__main__":
    main()
