"""A lake in an object store, through fsspec.

An object store has no rename. It needs none: an object that is put there replaces the earlier one when all of it has
arrived, so readers see one of the two. A lake is read from local copies, because the parts of a file that is read in
parts may be of two versions.
"""

import contextlib
import dataclasses
import datetime
import math
import pathlib
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator

from .claims import SUFFIX
from .engine import ChangedFiles, no_such_run
from .identity import safe_name
from .lake_files import LakeFiles, Node, find_files
from .parquet_files import first_line
from .problem import Problem
from .tables import TABLES

# Bytes that contain the footer of a Parquet file, or else the whole file is copied.
FOOTER = 64 * 1024
_NAME = re.compile(rf"(?:^|/)((\w+)/(run=[^/]+)/node-[^/]+(?:\.parquet|{re.escape(SUFFIX)}))$")
# For whoever has no fsspec; fsspec knows the package of the others.
_PACKAGES = {
    "s3": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "az": "adlfs",
    "abfs": "adlfs",
    "smb": "smbprotocol",
}
_MODIFIED = ("LastModified", "last_modified", "mtime", "updated", "modified")


class RemoteLake:
    """Has the functions of claims.SmallFiles too."""

    def __init__(self, address: str):
        self._address = address.rstrip("/")
        self._store, root = _open(self._address)
        self._root = root.rstrip("/")

    def __str__(self) -> str:
        return self._address

    @contextlib.contextmanager
    def changing(self, folder: str, node: str, tables: Iterable[str]) -> Iterator[pathlib.Path]:
        with tempfile.TemporaryDirectory(prefix="stepscope-lake-") as copy:
            own = [f"{table}/{folder}/node-{node}.parquet" for table in TABLES]
            with self._failures("read"):
                for table in {"rank", "run", *tables}:
                    there = self._objects(table, folder)
                    needed = [name for name in there if table == "rank" or name in own]
                    self._copy(needed, pathlib.Path(copy))
            with self._names(copy):
                yield pathlib.Path(copy)
            with self._failures("written"):
                for name in own:
                    self._put(pathlib.Path(copy) / name, name)

    @contextlib.contextmanager
    def reading(self, runs: list[str], since_unix_ns: int) -> Iterator[LakeFiles]:
        with tempfile.TemporaryDirectory(prefix="stepscope-lake-") as folder:
            copy = pathlib.Path(folder)
            with self._failures("read"):
                there = _chosen(
                    {t: self._objects(t) for t in TABLES}, runs, since_unix_ns / 1e9, self._address
                )
                self._copy([name for name in there if not name.startswith("step/")], copy)
                self._copy_footers({n: a for n, a in there.items() if n.startswith("step/")}, copy)
            with self._names(folder):
                files = find_files(copy)

                def shown(line: str) -> str:
                    return line.replace(folder, self._address)

                yield dataclasses.replace(
                    files,
                    left_out=[shown(line) for line in files.left_out],
                    fetch=lambda nodes: self._steps(nodes, copy),
                    shown=shown,
                )

    def exists(self, name: str) -> bool:
        with self._failures("read"):
            return self._store.exists(f"{self._root}/{name}")

    def create(self, name: str, content: bytes) -> bool:
        path = f"{self._root}/{name}"
        with self._failures("written"):
            if not self._is_object_store():
                self._store.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
            try:
                self._store.pipe_file(path, content, mode="create")
            except FileExistsError:
                return False
            except (
                Exception
            ):  # a store that cannot refuse to replace: two may create it at the same moment
                if self._store.exists(path):
                    return False
                self._store.pipe_file(path, content)
        return True

    def read(self, name: str, most_bytes: int) -> bytes:
        with self._failures("read"):
            try:
                return self._store.cat_file(f"{self._root}/{name}", start=0, end=most_bytes)
            except FileNotFoundError:
                return b""

    def remove(self, name: str) -> None:
        with contextlib.suppress(Exception):  # each store has its own kinds
            self._store.rm_file(f"{self._root}/{name}")

    @contextlib.contextmanager
    def _steps(self, nodes: list[Node], copy: pathlib.Path) -> Iterator[None]:
        """Copies the steps of a run, and removes them at the end."""
        files = [pathlib.Path(node.files["step"]) for node in nodes]
        with self._failures("read"):
            self._copy([str(file.relative_to(copy)) for file in files], copy)
        yield
        for file in files:
            file.unlink()

    def _objects(self, table: str, folder: str = "") -> dict[str, dict]:
        """What the store says about each file of a table."""
        try:
            found = self._store.find(f"{self._root}/{table}/{folder}".rstrip("/"), detail=True)
        except FileNotFoundError:
            return {}
        names = {path: _NAME.search(path) for path in found}
        return {name[1]: found[path] for path, name in names.items() if name and name[2] == table}

    def _copy(self, names: list[str], into: pathlib.Path) -> None:
        paths = [f"{self._root}/{name}" for name in names]
        for folder in {(into / name).parent for name in names}:
            folder.mkdir(parents=True, exist_ok=True)
        if paths:
            self._store.get(paths, [str(into / name) for name in names])

    def _copy_footers(self, objects: dict[str, dict], into: pathlib.Path) -> None:
        """Makes files that have only their footers: they can be checked as if they were whole."""
        names, sizes = list(objects), [about["size"] for about in objects.values()]
        starts = [max(size - FOOTER, 0) for size in sizes]
        paths = [f"{self._root}/{name}" for name in names]
        ends = self._store.cat_ranges(paths, starts, sizes, on_error="raise") if names else []
        larger = []
        for name, size, start, end in zip(names, sizes, starts, ends, strict=True):
            if end[-4:] != b"PAR1" and self._store.info(f"{self._root}/{name}")["size"] != size:
                raise ChangedFiles(f"{self._address}/{name}: has changed")
            if int.from_bytes(end[-8:-4], "little") + 8 > len(end) and start:
                larger.append(name)
                continue
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            with open(into / name, "wb") as file:
                file.seek(start)
                file.write(end)
        self._copy(larger, into)

    def _put(self, file: pathlib.Path, name: str) -> None:
        path = f"{self._root}/{name}"
        if self._is_object_store():
            self._store.put_file(str(file), path)
            return
        # A file server, such as that of sftp://, shows a file while it grows.
        self._store.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
        part = f"{path}.new.part"
        self._store.put_file(str(file), part)
        self._store.mv(part, path)

    def _is_object_store(self) -> bool:
        from fsspec import AbstractFileSystem

        return type(self._store).mv is AbstractFileSystem.mv

    @contextlib.contextmanager
    def _failures(self, what: str) -> Iterator[None]:
        try:
            yield
        except (Problem, ChangedFiles):
            raise
        except Exception as error:  # each store has its own kinds
            raise Problem(
                f"{self._address}: cannot be {what} ({type(error).__name__}: {first_line(error)}); check the"
                " address and the credentials"
            ) from error

    @contextlib.contextmanager
    def _names(self, copy: str) -> Iterator[None]:
        """Names the files in the store, not their copies."""
        try:
            yield
        except (Problem, ChangedFiles) as error:
            kind = ChangedFiles if isinstance(error, ChangedFiles) else Problem
            raise kind(str(error).replace(copy, self._address)) from error


def _open(address: str) -> tuple:
    scheme = re.split(r"::|://", address)[0]
    try:
        from fsspec.core import url_to_fs

        return url_to_fs(address, use_listings_cache=False)
    except ImportError as error:
        raise Problem(
            f"{address}: {sys.executable} cannot read {scheme}://; run `pip install {_package(scheme, error)}` for it"
        ) from error
    except ValueError as error:
        raise Problem(f"{address}: fsspec knows no {scheme}:// ({first_line(error)})") from error
    except Exception as error:  # each store has its own kinds
        raise Problem(f"{address}: cannot be opened ({first_line(error)})") from error


def _package(scheme: str, error: ImportError) -> str:
    if scheme in _PACKAGES or error.name == "fsspec":
        return _PACKAGES.get(scheme, "fsspec")
    from fsspec.registry import known_implementations

    package = known_implementations[scheme]["class"].split(".")[0]
    if package != "fsspec":
        return package
    cause = error.__cause__  # what its own module imports
    return getattr(cause, "name", None) or error.name or "fsspec"


def _chosen(
    tables: dict[str, dict[str, dict]], runs: list[str], since_s: float, address: str
) -> dict[str, dict]:
    """What may be of the chosen runs, so that little is copied."""
    objects = {name: about for table in tables.values() for name, about in table.items()}
    if not objects:
        raise Problem(f"{address}: has no runs; add some with `stepscope lake add`")
    modified: dict[str, float] = {}
    for name, about in objects.items():
        folder = name.split("/")[1]
        modified[folder] = max(modified.get(folder, -math.inf), _modified_s(about))
    wanted = {f"run={safe_name(run)}": run for run in runs}
    for folder, run in wanted.items():
        if folder not in modified:
            raise no_such_run(run, (name.removeprefix("run=") for name in modified))
    kept = {
        folder
        for folder, changed_s in modified.items()
        if (not wanted or folder in wanted) and changed_s >= since_s
    }
    # Without any, the answer names the runs that there are.
    return {n: a for n, a in objects.items() if n.split("/")[1] in (kept or modified)}


def _modified_s(about: dict) -> float:
    """Unix time; infinite if the store does not say."""
    found = next((about[key] for key in _MODIFIED if about.get(key)), None)
    if isinstance(found, str):
        found = datetime.datetime.fromisoformat(found)
    if isinstance(found, datetime.datetime):
        return found.timestamp()
    return float(found) if isinstance(found, (int, float)) else math.inf
