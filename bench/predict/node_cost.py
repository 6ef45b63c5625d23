#!/usr/bin/env python3
"""What it costs to make an autograd node and to drop it again: the constant of the rule gradients-in-inference
(kNodeCost in analyzer/advise/gradients_in_inference.cc), which is that over `leaf_op_overhead_ns` of a recording on the
same machine (sqlite3 run.db "select * from meta").

    bench/predict/node_cost.py

An op with a node less the same op without; what Python adds to both cancels out.
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
