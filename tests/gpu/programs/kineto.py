"""What the PyTorch profiler sees of a stretch of code: its kernels, in the order in which they ran."""

import contextlib
import json
import pathlib
import tempfile

from torch.profiler import ProfilerActivity, profile


@contextlib.contextmanager
def kernels_to(path):
    """Writes [[name, microseconds], …] to `path`."""
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        yield
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(trace))
        events = json.loads(trace.read_text())["traceEvents"]
    kernels = sorted(
        (event for event in events if event.get("cat") == "kernel"), key=lambda event: event["ts"]
    )
    pathlib.Path(path).write_text(json.dumps([[event["name"], event["dur"]] for event in kernels]))
