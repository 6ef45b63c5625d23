"""A training of fifty steps that knows nothing of Stepscope."""

import torch

data = torch.utils.data.TensorDataset(torch.ones(400, 16))
model = torch.nn.Linear(16, 4)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for (batch,) in torch.utils.data.DataLoader(data, batch_size=8):
    optimizer.zero_grad()
    model(batch).square().mean().backward()
    optimizer.step()
