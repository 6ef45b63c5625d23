"""Trains for so many seconds on batches that come slowly: paced.py SECONDS [MS_PER_BATCH]. Ends with exit code 7."""

import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset

SECONDS = float(sys.argv[1])
BATCH_SECONDS = float(sys.argv[2]) / 1000 if len(sys.argv) > 2 else 0.01


class Slow(Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, index):
        time.sleep(BATCH_SECONDS)
        return torch.full((64,), float(index % 7))


torch.set_num_threads(1)
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
end = time.monotonic() + SECONDS
steps = 0
for batch in DataLoader(Slow(), batch_size=1):
    optimizer.zero_grad()
    model(batch).square().mean().backward()
    optimizer.step()
    steps += 1
    if time.monotonic() > end:
        break
print("trained")
print(f"{steps} steps", file=sys.stderr)
sys.exit(7)
