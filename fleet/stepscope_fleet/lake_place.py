"""Where a lake is: in a folder, or in an object store at an address such as s3://bucket/lake."""

import contextlib
import pathlib
from collections.abc import Iterable

from .lake_files import LakeFiles, find_files
from .remote_lake import RemoteLake

Lake = pathlib.Path | RemoteLake


def lake_at(name: str) -> Lake:
    if name.startswith("file://"):
        return pathlib.Path(name.removeprefix("file://"))
    return RemoteLake(name) if "://" in name else pathlib.Path(name)


def changing(
    lake: Lake, folder: str, node: str, tables: Iterable[str]
) -> contextlib.AbstractContextManager[pathlib.Path]:
    """A folder with the ranks of a run (`folder`: run=ID), what is known of the node, and its rows in `tables`. The
    node's files there are in the lake at the end, unless there was an error."""
    if isinstance(lake, RemoteLake):
        return lake.changing(folder, node, tables)
    return contextlib.nullcontext(lake)


def reading(
    lake: Lake, runs: list[str], since_unix_ns: int
) -> contextlib.AbstractContextManager[LakeFiles]:
    """The files of at least the chosen runs."""
    if isinstance(lake, RemoteLake):
        return lake.reading(runs, since_unix_ns)
    return contextlib.nullcontext(find_files(lake))
