"""Which parallel groups a rank is in, and its place in each: its data, pipeline and tensor parallel rank."""

import math
import os
import re

from .problem import Problem

# What programs call the dimensions of a mesh.
_KINDS = {
    "dp": ("dp", "data", "ddp"),
    "pp": ("pp", "pipe", "pipeline", "stage"),
    "tp": ("tp", "tensor", "model", "mp"),
}
KINDS = tuple(_KINDS)
VARIABLE = "STEPSCOPE_GROUPS"


def recorded_groups(text: str) -> dict[int, dict[str, int]]:
    """The places of each rank, of `groups` in a store's `meta`: "0:dp=0/2,tp=0/4 1:…"."""
    found: dict[int, dict[str, int]] = {}
    for rank, groups in re.findall(r"(?:^| )(\d{1,9}):([a-z0-9_=/,]+)(?= |$)", text):
        places = re.findall(r"(?:^|,)([a-z0-9_]+)=(\d{1,9})/\d{1,9}(?=,|$)", groups)
        found[int(rank)] = _known({kind: int(place) for kind, place in places})
    return found


def _known(places: dict[str, int]) -> dict[str, int]:
    known = {}
    for kind, names in _KINDS.items():
        place = next((places[name] for name in names if name in places), None)
        if place is not None:
            known[kind] = place
    return known


class Layout:
    """How ranks are numbered: the sizes of the groups, of the kind whose members have neighbouring ranks first. Raises
    ValueError if the text says no such sizes."""

    def __init__(self, text: str):
        parts = [
            re.fullmatch(r"([a-z][a-z0-9_]*)=([1-9]\d{0,5})", part) for part in text.split(",")
        ]
        self._sizes = {part[1]: int(part[2]) for part in parts if part}
        if not all(parts) or len(self._sizes) != len(parts):
            raise ValueError(f"{text} is no list of sizes such as tp=2,dp=4,pp=2")
        self._text = text

    def places(self, rank: int) -> dict[str, int]:
        found, rest = {}, rank
        for kind, size in self._sizes.items():
            found[kind], rest = rest % size, rest // size
        return _known(found)

    def check(self, world_size: int | None) -> None:
        ranks = math.prod(self._sizes.values())
        if world_size is not None and ranks != world_size:
            raise Problem(
                f"the groups {self._text} are for {ranks} ranks, but the run has {world_size}; correct the sizes"
            )


def layout_of_environment() -> Layout | None:
    """That of the variable STEPSCOPE_GROUPS."""
    text = os.environ.get(VARIABLE)
    try:
        return Layout(text) if text else None
    except ValueError as error:
        raise Problem(f"{VARIABLE}: {error}") from error
