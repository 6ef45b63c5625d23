"""As much of torch as the marks know of, in the shape that it has in one version."""

import os

if os.environ.get("FAKE_TORCH_FAILS"):
    raise ImportError("libtorch_cpu.so: cannot open shared object file")

from . import amp, autograd, nn, optim, serialization, utils
from .serialization import save
