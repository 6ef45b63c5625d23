"""How far the clocks of a run's nodes are apart."""

import statistics
from collections.abc import Iterable

LEAST_COLLECTIVES = 5


def node_clocks(rows: Iterable[dict], hosts: dict[str, str]) -> list[dict]:
    """Of rows of node_clock.sql: the offset of each node's clock, that of the node with the lowest rank being 0.
    error_ns: half of the distance between the 10th and the 90th percentile of what single collectives say. drift_ns:
    by how much the offset grew between the first and the last part of the run. `hosts`: of each node."""
    nodes: dict[str, list[dict]] = {}
    for row in rows:
        nodes.setdefault(row["node"], []).append(row)
    return [
        {
            "node": node,
            "host": hosts.get(node, ""),
            "offset_ns": round(statistics.median(row["offset_ns"] for row in blocks)),
            "error_ns": round(
                statistics.median((row["high_ns"] - row["low_ns"]) / 2 for row in blocks)
            ),
            "drift_ns": round(blocks[-1]["offset_ns"] - blocks[0]["offset_ns"]),
            "collectives": sum(row["collectives"] for row in blocks),
        }
        for node, blocks in sorted(nodes.items())
        if sum(row["collectives"] for row in blocks) >= LEAST_COLLECTIVES
    ]
