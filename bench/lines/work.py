"""A loop of fixed work for bench/lines/run.py. Prints how long it took, in seconds."""

import sys
import time

import stepscope


def work():
    return sum(i * i for i in range(40_000))


def main():
    begin = time.perf_counter()
    for _ in range(int(sys.argv[1])):
        work()
        stepscope.step()
    print(time.perf_counter() - begin)


main()
