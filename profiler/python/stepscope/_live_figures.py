"""Reads the live metrics of this process from the endpoint of `stepscope run`.

The endpoint's text is Prometheus' format, as metrics/exposition.h writes it. All HTTP here is to an
address that `stepscope run` itself serves.
"""

from __future__ import annotations

import dataclasses
import os
import re
from typing import Dict, Iterator, Optional, Tuple

_TIMEOUT_S = 2.0
_SAMPLE = re.compile(r"^stepscope_(\w+)\{(.*)\} (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
# The gauges of a loop that a chart over steps can show: shares, and lengths of steps in seconds.
_CHARTED = re.compile(r"\w+_ratio|step_seconds|step_(p50|p90|max)_seconds")

Labels = Dict[str, str]


@dataclasses.dataclass
class Figures:
    """Of the training loop of this process: the one with most steps, if it has several."""

    steps: int
    values: Dict[str, float]  # "input_ratio": 0.45, "step_seconds": 0.0014
    verdict: str  # "input-bound", or "" if there is none yet


def read(url: str) -> Optional[Figures]:
    """None if this process has not ended a step yet. Raises OSError if nothing answers."""
    import urllib.request

    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # it is this machine
    with opener.open(url, timeout=_TIMEOUT_S) as answer:
        return figures_of(answer.read().decode(), os.getpid())


def figures_of(page: str, pid: int) -> Optional[Figures]:
    own = [sample for sample in _samples(page) if sample[1].get("pid") == str(pid)]
    loops = [(value, labels) for name, labels, value in own if name == "steps_total"]
    if not loops:
        return None
    steps, loop = max(loops, key=lambda one: one[0])
    of_loop = [
        (name, labels, value) for name, labels, value in own if loop.items() <= labels.items()
    ]
    if not steps:
        return None
    return Figures(
        int(steps),
        {name: value for name, _, value in of_loop if _CHARTED.fullmatch(name)},
        next((labels["kind"] for name, labels, _ in of_loop if name == "verdict"), ""),
    )


def _samples(page: str) -> Iterator[Tuple[str, Labels, float]]:
    for name, labels, value in _SAMPLE.findall(page):
        yield name, dict(_LABEL.findall(labels)), float(value)
