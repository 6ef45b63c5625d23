"""Five steps, then more memory than any GPU has: the program ends with PyTorch's OutOfMemoryError."""

import torch
from torch import nn

network = nn.Linear(1024, 1024).cuda()
optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
held = []
for step in range(1000):
    network(torch.randn(64, 1024, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    if step >= 5:
        held.append(torch.empty(8 << 30, dtype=torch.uint8, device="cuda"))
