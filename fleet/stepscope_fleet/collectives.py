"""The last collective of each step that ends on all ranks at the same time. Such ends tell how far clocks are apart, and
such starts which rank arrives last."""

import bisect

from .store_schema import COLLECTIVE_KERNELS, COLLECTIVE_OPS
from .stores import Loop, Store

_OPS = f"""
SELECT t.process_id, o.start_ns, o.start_ns, o.start_ns + o.dur_ns
FROM op AS o JOIN thread AS t ON t.id = o.thread_id WHERE {COLLECTIVE_OPS}
"""
# A kernel belongs to the step that launched it.
_KERNELS = f"""
SELECT d.process_id, coalesce(min(a.start_ns), k.start_ns), k.start_ns, k.start_ns + k.dur_ns
FROM kernel AS k JOIN stream AS s ON s.id = k.stream_id JOIN device AS d ON d.id = s.device_id
LEFT JOIN api_call AS a ON a.correlation = k.correlation
  AND (SELECT process_id FROM thread WHERE id = a.thread_id) = d.process_id
WHERE k.{COLLECTIVE_KERNELS} GROUP BY k.id
"""


class Collectives:
    """The collectives that a store has. Times are those of the session."""

    def __init__(self, store: Store):
        rows = [*store.rows(_OPS), *store.rows(_KERNELS)]
        self._of: dict[int, list[tuple[int, int, int]]] = {}
        for process, *times in sorted(rows):
            self._of.setdefault(process, []).append(tuple(times))

    def last_in(self, loop: Loop, begin_ns: int, end_ns: int) -> tuple[int, int] | None:
        """Start and end of the last one that the loop's process began from `begin_ns` to before `end_ns`."""
        own = self._of.get(loop.process, [])
        at = bisect.bisect_left(own, (end_ns,)) - 1
        return own[at][1:] if at >= 0 and own[at][0] >= begin_ns else None
