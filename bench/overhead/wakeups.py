#!/usr/bin/env python3
"""Counts how often the threads of a recorder wake up, and how often they are on the loop's CPU then.

usage: bench/overhead/wakeups.py [--build build/release] [--seconds 10] [-- OPTION...]

A thread that sleeps leaves a timer on the CPU on which it fell asleep. The timer interrupts whatever
runs there, in a virtual machine for some 50 µs. So these two numbers say, on a busy machine too, what
a recorder that does little costs a loop. The loop of small ops in loop.py is recorded by
`stepscope run OPTION...`, and by itself (stepscope.record()).
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SETTLE = 1.5  # seconds

PROGRAM = """
import contextlib, sys, time
sys.path.insert(0, sys.argv[1])
import loop
loop.torch.set_num_threads(1)
network, batch = loop.mlp()
recording = contextlib.nullcontext()
if len(sys.argv) > 3:
    import stepscope
    recording = stepscope.record(sys.argv[3])
with recording:
    print("begun", flush=True)
    end = time.monotonic() + float(sys.argv[2])
    while time.monotonic() < end:
        loop.train(network, batch, 20, contextlib.nullcontext, lambda: None)
"""


def cpu_of(pid, tid):
    stat = pathlib.Path(f"/proc/{pid}/task/{tid}/stat").read_text()
    return int(stat[stat.rindex(")") + 2 :].split()[36])


def wakeups_of(pid, tid):
    status = pathlib.Path(f"/proc/{pid}/task/{tid}/status").read_text()
    return int(status.split("voluntary_ctxt_switches:")[1].split()[0])


def threads_of(pid):
    return [int(task) for task in os.listdir(f"/proc/{pid}/task")]


def watch(pid, threads, loop, seconds):
    """{tid: (wake-ups a second, share of the looks that found it on the CPU of `loop`)}."""
    before = {tid: wakeups_of(pid, tid) for tid in threads}
    together, looks, begin = dict.fromkeys(threads, 0), 0, time.monotonic()
    while time.monotonic() - begin < seconds:
        time.sleep(0.037)  # no multiple of a recorder's periods
        cpu, looks = cpu_of(loop, loop), looks + 1
        for tid in threads:
            together[tid] += cpu_of(pid, tid) == cpu
    took = time.monotonic() - begin
    return {
        tid: ((wakeups_of(pid, tid) - before[tid]) / took, together[tid] / looks) for tid in threads
    }


def measure(arguments, folder, embedded):
    program = [sys.executable, "-c", PROGRAM, HERE, str(arguments.seconds + 2 * SETTLE)]
    environment = dict(os.environ)
    store = folder / f"{embedded}.db"
    if embedded:
        program.append(store)
        environment["PYTHONPATH"] = str(arguments.build / "lib/stepscope/python")
    else:
        wrapper = [arguments.build / "bin/stepscope", "run", "-o", store, "--quiet"]
        program = [*wrapper, *arguments.options, "--", *program]
    with subprocess.Popen(program, env=environment, stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        time.sleep(SETTLE)
        if embedded:  # its recorder's threads are the youngest; the loop runs on the first
            loop = process.pid
            threads = sorted(threads_of(loop))[-2:]
        else:
            children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
            loop = int(children.read_text().split()[0])
            threads = threads_of(process.pid)
        found = watch(process.pid, threads, loop, arguments.seconds)
    return found.values()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("options", nargs="*", help="of `stepscope run`")
    arguments = parser.parse_args()
    arguments.build = arguments.build.resolve()
    with tempfile.TemporaryDirectory() as folder:
        for embedded in (False, True):
            print("a program that records itself:" if embedded else "stepscope run:")
            for wakeups, together in measure(arguments, pathlib.Path(folder), embedded):
                print(f"  {wakeups:4.0f} wake-ups a second, {together:4.0%} on the loop's CPU")


if __name__ == "__main__":
    main()
