"""Runs a notebook like Jupyter: its cells train a small network on points that a function of the
notebook makes.

    stepscope run -o run.db -- python3 notebook.py

The slow line is in the second cell.
"""

import nbclient
import nbformat
import planted

CELLS = [
    """
import json, math, time
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
torch.set_num_threads(1)
torch.manual_seed(0)
""",
    """
class Points(Dataset):
    def __len__(self):
        return STEPS * 16

    def __getitem__(self, index):
        angle = index % 360
        for _ in range(PASSES):
            radius = sum(math.sin(k * angle) for k in range(200))  # the slow line
        return torch.tensor([radius, angle / 360]), index % 2
""",
    """
network = nn.Sequential(nn.Linear(2, 128), nn.ReLU(), nn.Linear(128, 2))
optimizer = torch.optim.SGD(network.parameters(), lr=0.05)
ends = []
for points, labels in DataLoader(Points(), 16):
    loss = nn.functional.cross_entropy(network(points), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ends.append(time.perf_counter())
print(json.dumps({"step_ms": (ends[-1] - ends[10]) / (len(ends) - 11) * 1e3}))
""",
]


def main():
    given = planted.arguments(__doc__, steps=150)
    settings = f"STEPS, PASSES = {given.steps}, {10 if given.fixed else 20}"
    cells = [nbformat.v4.new_code_cell(text.strip()) for text in [settings, *CELLS]]
    done = nbclient.NotebookClient(nbformat.v4.new_notebook(cells=cells)).execute()
    print(done.cells[-1].outputs[0].text.strip())


if __name__ == "__main__":
    main()
