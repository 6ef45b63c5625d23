"""Training that is started by fork, by spawn, or by exec of another program.

With fork, parent and child both train; with spawn the child alone. Each that trains writes what it saw to
FILE.NAME; after exec it is FILE.
"""

import multiprocessing
import os
import pathlib
import sys

import own


def train(path, batches):
    import small
    import torch
    from torch.utils.data import DataLoader

    small.prepare()
    stopwatch = own.Stopwatch(path)
    network = small.model()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05)
    for batch in stopwatch.batches(DataLoader(small.Samples(batches, "sleep", 2.0), small.BATCH)):
        loss = small.train_step(network, optimizer, batch, stopwatch)
    stopwatch.save()
    return f"loss {loss:.6f}"


def fork(path, batches):
    import torch  # before the fork, as scripts do; no thread runs yet

    child = os.fork()
    name = "child" if child == 0 else "parent"
    said = train(f"{path}.{name}", batches)
    if child == 0:
        os._exit(3)
    status = os.waitpid(child, 0)[1]
    print(said, "child exited with", os.waitstatus_to_exitcode(status))


def spawn(path, batches):
    child = multiprocessing.get_context("spawn").Process(
        target=train, args=(f"{path}.child", batches)
    )
    child.start()
    child.join()
    print("child exited with", child.exitcode)


def execute(path, batches):
    program = pathlib.Path(__file__).with_name("loader.py")
    os.execv(
        sys.executable,
        [sys.executable, str(program), "--own", path, "--batches", str(batches // 2)],
    )


if __name__ == "__main__":
    given = own.arguments(__doc__, how="fork", batches=80)
    {"fork": fork, "spawn": spawn, "exec": execute}[given.how](given.own, given.batches)
