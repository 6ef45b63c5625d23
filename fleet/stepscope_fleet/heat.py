"""A run as a picture of ranks and time: how far each is above the usual rank."""

import dataclasses

from .slow_ranks import BLOCKS, Series

MOST_ROWS = 128  # with more ranks, neighbours share a row, which shows the slowest of them


@dataclasses.dataclass
class HeatMap:
    first_ranks: list[int]  # of each row
    last_ranks: list[int]
    first_steps: list[int]  # of each column
    rows: list[list[int | None]]  # thousandths of a step beyond the usual rank; None: no steps


def heat_map(series: Series, step_ns: float) -> HeatMap:
    ranks = series.ranks()
    blocks = sorted(series.first_steps)
    each = max(1, -(-len(ranks) // MOST_ROWS))
    found = HeatMap([], [], [series.first_steps[block] for block in blocks], [])
    for at in range(0, len(ranks), each):
        together = ranks[at : at + each]
        row: list[int | None] = [None] * BLOCKS
        for rank in together:
            for block, excess in enumerate(series.excess(rank)):
                if excess == excess:  # not NaN
                    row[block] = max(row[block] or 0, round(1000 * excess / step_ns))
        found.first_ranks.append(together[0])
        found.last_ranks.append(together[-1])
        found.rows.append([row[block] for block in blocks])
    return found
