"""A loop whose lines take known times: each is timed by itself. Knows nothing of Stepscope but its marks, which tell of
the waits where there is no torch.

Kinds of line: busy (Python code), sleep, read (a pipe that answers late), extension (C code that holds the GIL),
comprehension, generator.
"""

import argparse
import json
import os
import sys
import threading
import time
import zlib

import stepscope

TIMES = {}
DATA = bytes(range(256)) * 1200


def timed(name, call):
    begin = time.perf_counter_ns()
    result = call()
    TIMES[name] = TIMES.get(name, 0) + time.perf_counter_ns() - begin
    return result


def busy():
    end = time.perf_counter_ns() + 3_000_000
    while time.perf_counter_ns() < end:
        pass  # noqa: E701  one line, so that all of it counts there


def sleep():
    time.sleep(0.002)


class SlowPipe:
    """A descriptor that has a byte each time somebody waited for it for a while."""

    def __init__(self):
        self._ask = threading.Semaphore(0)
        self._read_end, self._write_end = os.pipe()
        threading.Thread(target=self._answer, daemon=True).start()

    def _answer(self):
        while True:
            self._ask.acquire()
            time.sleep(0.002)
            os.write(self._write_end, b".")

    def wait_for_byte(self):
        self._ask.release()
        os.read(self._read_end, 1)  # the line: read


PIPE = SlowPipe()


def read():
    PIPE.wait_for_byte()


def extension():
    zlib.compress(DATA, 9)


def comprehension():
    sum([i * i for i in range(30_000)])


def numbers():
    total = 0
    while total < 20_000:
        total += 1
        yield total  # the line: generator


def generator():
    sum(numbers())


KINDS = [busy, sleep, read, extension, comprehension, generator]


def batches(count):
    for _ in range(count):
        for kind in KINDS:
            timed(kind.__name__, kind)
        yield 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--own", required=True)
    parser.add_argument("--batches", type=int, default=400)
    given = parser.parse_args()
    traced = 0
    for _ in stepscope.input(batches(given.batches), "batches"):
        with open("/proc/self/status") as status:
            traced += "TracerPid:\t0\n" not in status.read()
        stepscope.step()
    with open(given.own, "w") as file:
        json.dump({"times": TIMES, "pid": os.getpid(), "traced": traced}, file)


if __name__ == "__main__":
    main()
    sys.stdout.flush()
