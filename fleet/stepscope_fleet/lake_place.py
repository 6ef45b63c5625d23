"""Where a lake is: in a folder, or in an object store at an address such as s3://bucket/lake."""

import contextlib
import pathlib
from collections.abc import Iterable

from .claims import SmallFiles
from .lake_files import LakeFiles, find_files
from .parquet_files import reason_of
from .problem import Problem
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


def small_files(lake: Lake) -> SmallFiles:
    return lake if isinstance(lake, RemoteLake) else _Folder(lake)


class _Folder:
    """As claims.SmallFiles."""

    def __init__(self, lake: pathlib.Path):
        self._lake = lake

    def __str__(self) -> str:
        return str(self._lake)

    def exists(self, name: str) -> bool:
        return (self._lake / name).exists()

    def create(self, name: str, content: bytes) -> bool:
        path = self._lake / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            return _create_file(path, content)
        except OSError as error:
            raise Problem(f"{self._lake}: cannot be written ({reason_of(error)})") from error

    def read(self, name: str, most_bytes: int) -> bytes:
        path = self._lake / name
        try:
            if not path.is_file():  # reading a pipe might never end
                return b""
            with path.open("rb") as file:
                return file.read(most_bytes)
        except FileNotFoundError:
            return b""

    def remove(self, name: str) -> None:
        with contextlib.suppress(OSError):
            (self._lake / name).unlink()


def _create_file(path: pathlib.Path, content: bytes) -> bool:
    """False if the file is there already. One that cannot be written is removed."""
    try:
        file = path.open("xb")
    except FileExistsError:
        return False
    try:
        with file:
            file.write(content)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    return True
