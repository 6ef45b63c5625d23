"""Keeps two recordings apart that are added at the same time as one node of a run.

LAKE/run/run=ID/node-0003.adding is there until the first add of the node is complete, and says of which recording it
is. Of two adds that create it at once, one fails: the store of files decides which. A killed add leaves it, so its node
can be named although it has no other file yet.
"""

import contextlib
import json
import time
from collections.abc import Iterator
from typing import Protocol

from .problem import Problem
from .stores import Store

SUFFIX = ".adding"
_PATIENCE_S = 2.0  # with a claim that is empty: it is being written
_POLL_S = 0.02
_MOST_BYTES = 64 * 1024


class SmallFiles(Protocol):
    """Files of a lake by their names in it. Raises Problem or OSError, a line that names the lake."""

    def __str__(self) -> str:
        """The lake."""

    def exists(self, name: str) -> bool: ...

    def create(self, name: str, content: bytes) -> bool:
        """Creates the folder too. False if the file is there already."""

    def read(self, name: str, most_bytes: int) -> bytes:
        """Nothing if it is not there."""

    def remove(self, name: str) -> None:
        """Never fails."""


@contextlib.contextmanager
def claimed(files: SmallFiles, folder: str, node: str, store: Store) -> Iterator[None]:
    """Refuses the store if another recording is being added as this node. Once the node is in the lake, its row in `run`
    says of which recording it is: look there after the claim."""
    name = f"run/{folder}/node-{node}"
    if files.exists(f"{name}.parquet"):
        yield
        return
    claim = name + SUFFIX
    created = _create(files, claim, node, store)
    try:
        yield
    except BaseException:
        if created:  # or else it is that of an add that goes on, or that was killed
            files.remove(claim)
        raise
    files.remove(claim)


def is_same_recording(row: dict, store: Store) -> bool:
    """A copy of a store has its start, and a store that replaced another has its name."""
    ours = (store.wall_start_unix_ns, store.whole_name)
    return row.get("wall_start_unix_ns") == ours[0] or row.get("store") == ours[1]


def _create(files: SmallFiles, claim: str, node: str, store: Store) -> bool:
    """False if an add of the same recording has created it."""
    ours = {"store": store.whole_name, "wall_start_unix_ns": store.wall_start_unix_ns}
    until = time.monotonic() + _PATIENCE_S
    while not files.create(claim, json.dumps(ours).encode()):
        content = files.read(claim, _MOST_BYTES)
        theirs = _parsed(content)
        if is_same_recording(theirs, store):
            return False
        if content or time.monotonic() > until:
            raise Problem(
                f"{store.path}: node {node} of this run is being added from another recording"
                f" ({theirs.get('store', 'unknown')}); name another run with --run, or remove {files}/{claim} if that add"
                " was killed"
            )
        time.sleep(_POLL_S)
    return True


def _parsed(content: bytes) -> dict:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
