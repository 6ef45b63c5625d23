#!/usr/bin/env python3
"""Measures what logging live metrics into MLflow and TensorBoard costs the program that is recorded.

usage: cost.py STEPSCOPE [SECONDS]

Records a training of so many seconds (default: 60) that has an MLflow run in a local folder and a
TensorBoard writer. Prints the processor time of the thread that logs into both, per update. Run it
with a Python that has torch, mlflow-skinny and tensorboard.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = """
import pathlib, sys, threading, time
import mlflow, torch
from torch.utils.tensorboard import SummaryWriter

mlflow.start_run()
writer = SummaryWriter("logs")
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
end = time.monotonic() + float(sys.argv[1])
for batch in torch.utils.data.DataLoader(torch.ones(64, 64).expand(10**6, 64, 64)):
    optimizer.zero_grad()
    model(batch).square().mean().backward()
    optimizer.step()
    if time.monotonic() > end:
        break
(thread,) = [one for one in threading.enumerate() if one.name == "stepscope-trackers"]
ran_ns = int(pathlib.Path(f"/proc/self/task/{thread.native_id}/schedstat").read_text().split()[0])
run = mlflow.active_run().info.run_id
updates = len(mlflow.MlflowClient().get_metric_history(run, "stepscope/input_ratio"))
print(f"{updates} updates, {ran_ns / 1e6 / updates:.1f} ms of processor time each")
"""


def main(arguments: list[str]) -> None:
    if not 1 <= len(arguments) <= 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "train.py"
        program.write_text(PROGRAM)
        stepscope = pathlib.Path(arguments[0]).resolve()
        options = ["--quiet", "--no-analysis", "--metrics", "0", "-o", "run.db"]
        subprocess.run(
            [stepscope, "run", *options, "--", sys.executable, program, *(arguments[1:] or ["60"])],
            cwd=folder,
            env=os.environ
            | {"MLFLOW_TRACKING_URI": f"file://{folder}/mlruns", "MLFLOW_ALLOW_FILE_STORE": "true"},
            check=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
