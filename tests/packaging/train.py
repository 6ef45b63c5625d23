"""A training of fifty steps with marks."""

import stepscope
import torch

model = torch.nn.Linear(16, 4)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for batch in stepscope.input([torch.ones(8, 16)] * 50):
    optimizer.zero_grad()
    model(batch).square().mean().backward()
    optimizer.step()
