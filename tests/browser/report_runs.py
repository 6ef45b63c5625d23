"""Small synthetic training runs, written as traces of the PyTorch profiler for `stepscope import`.

A run is built step by step; all times are in microseconds. One function defines the steps of each
kind of run, so a test can tell what the report must show.
"""

import dataclasses
import json

THREAD, STREAM = 100, 7


@dataclasses.dataclass
class Trace:
    """One process's trace; its loop runs on THREAD."""

    rank: int = 0
    world: int = 1
    at: float = 1000.0
    events: list = dataclasses.field(default_factory=list)
    correlation: int = 0

    @property
    def pid(self):
        return 4000 + self.rank

    def slice(self, category, name, start, duration, tid=THREAD, pid=None, **arguments):
        self.events.append(
            {
                "ph": "X",
                "cat": category,
                "name": name,
                "pid": self.pid if pid is None else pid,
                "tid": tid,
                "ts": round(start, 3),
                "dur": round(duration, 3),
                "args": arguments,
            }
        )

    def op(self, name, duration, shapes=None, tid=THREAD):
        """An op that begins now (`at`), by default on the loop's thread."""
        more = {"Input Dims": shapes} if shapes else {}
        self.slice(
            "cpu_op", name, self.at, duration, tid, **{"External id": len(self.events) + 1}, **more
        )
        self.at += duration

    def wait(self, duration):
        """A wait for the next batch, in which the loop's thread decodes it."""
        start = self.at
        self.op("aten::div", duration * 0.6)
        self.op("aten::stack", duration * 0.3)
        self.at = start + duration
        self.slice(
            "user_annotation",
            "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
            start,
            duration,
        )

    def launch(self, op, kernel, after, duration, category="kernel", **arguments):
        """An op that launches work on the device; the work begins `after` µs after the op."""
        self.correlation += 1
        self.slice("cuda_runtime", "cudaLaunchKernel", self.at + 2, 4, correlation=self.correlation)
        self.slice(
            category,
            kernel,
            self.at + after,
            duration,
            tid=STREAM,
            pid=0,
            **{"device": 0, "stream": STREAM, "correlation": self.correlation, **arguments},
        )
        self.op(op, 10)

    def step(self, number, start):
        self.slice("user_annotation", f"ProfilerStep#{number}", start, self.at - start)

    def optimizer(self, duration):
        start = self.at
        self.op("aten::add_", duration)
        self.slice("user_annotation", "Optimizer.step#SGD.step", start, duration)

    def write(self, path):
        document = {
            "schemaVersion": 1,
            "baseTimeNanoseconds": 1_700_000_000_000_000_000,
            "traceEvents": self.events,
            "deviceProperties": [{"id": 0, "name": "Test GPU", "totalGlobalMem": 16_000_000_000}],
        }
        if self.world > 1:
            document["distributedInfo"] = {
                "backend": "nccl",
                "rank": self.rank,
                "world_size": self.world,
            }
        path.write_text(json.dumps(document))
        return path


def on_cpu(
    steps=40,
    wait=200,
    compute=1000,
    every=0,
    stall=0,
    names=("aten::linear", "aten::relu"),
    shapes=None,
):
    """Steps that wait, compute and update; each `every`th also waits `stall` longer."""
    trace = Trace()
    for number in range(1, steps + 1):
        start = trace.at
        # Neighbouring steps differ slightly.
        trace.wait(wait + 3 * (number * 7 % 5) + (stall if every and number % every == 0 else 0))
        for name in names:
            trace.op(name, (compute + 2 * (number * 3 % 4)) / len(names), shapes)
        trace.optimizer(60)
        trace.at += 5
        trace.step(number, start)
    return trace


def evaluating(steps=40, every=10, batches=3):
    """Steps on the CPU; after each `every`th come batches that are not trained on."""
    trace = Trace()
    for number in range(1, steps + 1):
        start = trace.at
        trace.wait(200 + 3 * (number * 7 % 5))
        trace.op("aten::linear", 800 + 2 * (number * 3 % 4))
        trace.optimizer(60)
        trace.at += 5
        trace.step(number, start)
        for _ in range(batches if number % every == 0 else 0):
            trace.wait(1500)
            trace.op("aten::linear", 500)
    return trace


def on_device(steps=25, rank=0, world=1, work=700, until=1000):
    """Steps whose kernels take `work`; with several ranks an all-reduce fills the rest, up to `until`."""
    trace = Trace(rank=rank, world=world)
    for number in range(1, steps + 1):
        start = trace.at
        jitter = 2 * (number * 5 % 7)
        trace.wait(30)
        trace.launch(
            "aten::copy_", "Memcpy HtoD (Pageable -> Device)", 8, 40, "gpu_memcpy", bytes=1_000_000
        )
        trace.at += 50
        begin = trace.at
        trace.launch("aten::addmm", "void gemm<float>(float const*, float*)", 10, work + jitter)
        if world > 1:
            trace.launch(
                "c10d::allreduce_",
                "ncclDevKernel_AllReduce_Sum_f32",
                work + jitter + 2,
                until - work - jitter,
            )
        trace.at = begin + until
        trace.optimizer(20)
        trace.step(number, start)
    return trace


def late_input(rank, steps=24, every=3, stall=1500, work=700, until=1000):
    """One of two ranks on devices; in each `every`th step rank 0 waits for its input and rank 1 for rank 0."""
    trace = Trace(rank=rank, world=2)
    for number in range(1, steps + 1):
        start = trace.at
        late = stall if number % every == 0 else 0
        trace.wait(30 + (late if rank == 0 else 0))
        begin = trace.at
        trace.launch("aten::addmm", "void gemm<float>(float const*, float*)", 10, work)
        reduced = until + (late if rank == 1 else 0)
        trace.launch("c10d::allreduce_", "ncclDevKernel_AllReduce_Sum_f32", work, reduced - work)
        trace.at = begin + reduced
        trace.optimizer(20)
        trace.step(number, start)
    return trace


HOSTILE_NAMES = (
    "</script><script>document.title='taken over'</script>",
    "<img src=x onerror=\"document.title='taken over'\">",
    "quotes \" ' ` and \\ backslashes",
    "tab \t and newline \n and bell \x07",
    "right-to-left \u202e marks \u200f",
    "line separators \u2028 \u2029",
    "C1 \x9b31m, isolate \u2066, tag \U000e0041, filler \u3164",
    "__proto__",
    "emoji \U0001f525",
)

RUNS = {
    "input": lambda: [on_cpu(wait=900, compute=600)],
    "compute": lambda: [on_cpu(wait=10, compute=2000, shapes=[[64, 784], [128, 784]])],
    "kinds": lambda: [on_cpu(steps=200, wait=20, compute=800, every=20, stall=1500)],
    "evaluating": lambda: [evaluating()],
    "device": lambda: [on_device()],
    "ranks": lambda: [
        on_device(rank=rank, world=3, work=850 if rank == 1 else 300) for rank in range(3)
    ],
    "hostile": lambda: [on_cpu(names=HOSTILE_NAMES)],
}

HAND_MADE = ("code", "killed", "served", "tensors")  # of make_trace_store
KINDS = [*RUNS, *HAND_MADE, "trace"]


def run_checked(run_stepscope, *arguments):
    done = run_stepscope(*arguments)
    assert done.returncode == 0, done.stderr
    return done
