"""Trains for some seconds, waits for the device after each step, and is killed. Prints its steps."""

import os
import signal
import sys
import time

import torch
from torch import nn

network = nn.Linear(1024, 1024).cuda()
optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
steps = 0
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    optimizer.zero_grad()
    network(torch.randn(64, 1024, device="cuda")).sum().backward()
    optimizer.step()
    torch.cuda.synchronize()
    steps += 1
print(steps, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
