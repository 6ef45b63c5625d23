#!/usr/bin/env python3
"""Measures the cost of creating and destroying an autograd node. The constant kNodeCost of the rule
gradients-in-inference (analyzer/advise/gradients_in_inference.cc) is this cost divided by
`leaf_op_overhead_ns` of a recording on the same machine (sqlite3 run.db "select * from meta").

    bench/predict/node_cost.py

Subtracts the time of an op without a node from that with one; the overhead of Python cancels out.
"""

import statistics
import time

import torch

OPS = {
    "add": lambda x: x + x,
    "view": lambda x: x.view(16),
    "transpose": lambda x: x.transpose(0, 1),
}


def ns_a_call(op, x, calls=2000):
    begin = time.perf_counter_ns()
    for _ in range(calls):
        op(x)
    return (time.perf_counter_ns() - begin) / calls


def main():
    torch.set_num_threads(1)
    costs = []
    for name, op in OPS.items():
        plain, recording = torch.ones(4, 4), torch.ones(4, 4, requires_grad=True)
        rounds = [ns_a_call(op, recording) - ns_a_call(op, plain) for _ in range(21)]
        costs.append(statistics.median(rounds))
        print(f"{name:10} {costs[-1]:6.0f} ns more with a node")
    print(f"mean       {statistics.mean(costs):6.0f} ns")


if __name__ == "__main__":
    main()
