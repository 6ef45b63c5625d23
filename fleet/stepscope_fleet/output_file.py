"""Writes a file that the user names, and never replaces a recording or a part of a lake by it."""

import contextlib
import os
import pathlib
from collections.abc import Iterator

from .lake_place import Lake
from .parquet_files import reason_of, whole_file
from .problem import Problem

# The first bytes of files that are not replaced.
_KEPT = {"database": b"SQLite format 3\0", "Parquet file": b"PAR1"}
_SIDE_FILES = ("-wal", "-shm", "-journal")  # SQLite keeps them beside a database while it writes


def refuse_output(path: pathlib.Path, lake: Lake) -> None:
    """Refuses a name that the output must not have. Links count as the files that they lead to."""
    with _failures(path):
        if _descriptor_of(path) is not None:
            return
        target = path.resolve()
        if target.is_dir():
            raise Problem(f"{path}: is a folder; name a file in it")
        if isinstance(lake, pathlib.Path) and target.is_relative_to(lake.resolve()):
            raise Problem(
                f"{path}: is in the lake, where only its own files are; choose another name"
            )
        for suffix in _SIDE_FILES:
            database = pathlib.Path(str(target).removesuffix(suffix))
            if database != target and _begins_with(database, _KEPT["database"]):
                raise Problem(f"{path}: belongs to the database {database}; choose another name")
        if not target.is_file():
            return
        # A table of the lake may be a link to another disk.
        for kind, magic in _KEPT.items():
            if _begins_with(target, magic):
                raise Problem(
                    f"{path}: is a {kind}, which an export does not replace; choose another name"
                )


def write_output(path: pathlib.Path, content: bytes, lake: Lake) -> None:
    """The earlier file stays if this one cannot be written completely."""
    refuse_output(path, lake)
    with _failures(path):
        descriptor = _descriptor_of(path)
        if descriptor is not None:  # with the position that it has for whoever opened it
            with open(os.dup(descriptor), "wb") as file:
                file.write(content)
            return
        target = path.resolve()
        if target.exists() and not target.is_file():  # a named pipe
            target.write_bytes(content)
            return
        with whole_file(target) as name, open(name, "wb") as file:
            file.write(content)


def _descriptor_of(path: pathlib.Path) -> int | None:
    """The number of the open file that a path or a link names: /dev/stdout, /dev/fd/3."""
    for _ in range(40):  # links, as the kernel follows
        with contextlib.suppress(OSError):
            if path.name.isdecimal() and os.path.samefile(path.parent, "/proc/self/fd"):
                return int(path.name)
        if not path.is_symlink():
            return None
        path = path.parent / os.readlink(path)
    return None


@contextlib.contextmanager
def _failures(path: pathlib.Path) -> Iterator[None]:
    try:
        yield
    except (OSError, RuntimeError) as error:  # RuntimeError: links that lead to each other
        raise Problem(f"{path}: cannot be written ({reason_of(error)})") from error


def _begins_with(file: pathlib.Path, magic: bytes) -> bool:
    try:
        with file.open("rb") as opened:
            return opened.read(len(magic)) == magic
    except PermissionError:  # as the exporters in C++: who may write the folder may replace it
        return False
