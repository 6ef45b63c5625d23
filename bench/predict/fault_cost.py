#!/usr/bin/env python3
"""Measures the cost of a page fault for fresh memory, to check kMaxFaultNs in
analyzer/advise/keep_freed_memory.cc.

    bench/predict/fault_cost.py

Maps memory, writes to it one 4 KiB page at a time, and unmaps it; subtracts the time of the same
writes to memory that stays mapped.
"""

import mmap
import statistics
import time

MEGABYTES = 64
PAGES = (MEGABYTES << 20) // mmap.PAGESIZE


def ns_a_page(memory):
    touch = memory.__setitem__
    begin = time.perf_counter_ns()
    for at in range(0, MEGABYTES << 20, mmap.PAGESIZE):
        touch(at, 1)
    return (time.perf_counter_ns() - begin) / PAGES


def fresh():
    memory = mmap.mmap(-1, MEGABYTES << 20, flags=mmap.MAP_PRIVATE)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    return memory


def main():
    kept = fresh()
    ns_a_page(kept)
    rounds = []
    for _ in range(21):
        with fresh() as memory:
            rounds.append(ns_a_page(memory) - ns_a_page(kept))
    low, middle, high = (statistics.quantiles(rounds, n=20)[i] for i in (0, 9, 18))
    print(f"a fault: {middle:.0f} ns (5 % below {low:.0f}, 5 % above {high:.0f})")


if __name__ == "__main__":
    main()
