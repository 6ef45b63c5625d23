#!/usr/bin/env python3
"""Packs an installed Stepscope into a wheel.

usage: make_wheel.py PREFIX PROJECT OUTPUT_FOLDER

PREFIX   the result of `cmake --install` of a portable build (STEPSCOPE_PORTABLE)
PROJECT  the source tree; the metadata are in profiler/python/pyproject.toml

The platform tag is the oldest that the files allow. Each library and program is checked: everything
that it needs must belong to the C library, to the wheel, or to libtorch. The same files give the
same bytes: the time in the archive is SOURCE_DATE_EPOCH. Prints the name of the wheel.
"""

import base64
import dataclasses
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import time
import tomllib
import zipfile

PREFIX = "stepscope/_prefix"
# pip puts these into the prefix of the environment, where man and shells look.
SHARED = ("share/man/", "share/bash-completion/", "share/zsh/", "share/fish/")
# The second copy of the Python package, which `stepscope run` puts on PYTHONPATH, does not need it.
LEFT_OUT = ("lib/stepscope/python/pyproject.toml",)

# Libraries of glibc and GCC's runtime, which every manylinux distribution has (PEP 600).
OF_THE_SYSTEM = re.compile(
    r"^(lib(c|m|dl|pthread|rt|gcc_s|stdc\+\+)\.so\.\d+|ld-linux-x86-64\.so\.2)$"
)
OF_LIBTORCH = re.compile(r"^lib(torch_cpu|c10)\.so")
# The versions in AlmaLinux 8 (manylinux_2_28); the tag does not cover them.
NEWEST = {"GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (8, 0, 0)}
OLDEST_TAG = (2, 17)


@dataclasses.dataclass
class Entry:
    name: str
    content: bytes
    is_program: bool = False


def readelf(*arguments: object) -> str:
    return subprocess.run(
        ["readelf", "-W", *map(str, arguments)], check=True, capture_output=True, text=True
    ).stdout


def is_elf(file: pathlib.Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(4) == b"\x7fELF"


def soname(file: pathlib.Path) -> str:
    found = re.search(r"\(SONAME\).*\[(.*)\]", readelf("-d", file))
    return found.group(1) if found else file.name


# --- what is in it -------------------------------------------------------------------------------


def packed_files(prefix: pathlib.Path) -> dict[str, pathlib.Path]:
    """Maps names in the tree to files. A wheel has no links, so a library has the name that
    programs need."""
    files: dict[str, pathlib.Path] = {}
    for path in sorted(prefix.rglob("*")):
        name = path.relative_to(prefix)
        if path.is_symlink() or not path.is_file() or str(name) in LEFT_OUT:
            continue
        if is_elf(path):
            name = name.with_name(soname(path))
        files[str(name)] = path
    return files


def versions_needed(file: pathlib.Path) -> dict[str, tuple[int, ...]]:
    """The newest version needed of each kind: {"GLIBC": (2, 28)}."""
    newest: dict[str, tuple[int, ...]] = {}
    needs = readelf("-V", file).partition("Version needs section")[2]
    for kind, version in re.findall(r"Name: (\w+?)_([\d.]+)\b", needs):
        number = tuple(int(part) for part in version.split("."))
        newest[kind] = max(newest.get(kind, ()), number)
    return newest


def platform_tag(files: dict[str, pathlib.Path]) -> str:
    """The oldest tag that all of `files` allow. Exits if one of them needs something that no tag
    guarantees."""
    own = {pathlib.PurePath(name).name for name in files}
    glibc = OLDEST_TAG
    for name, file in files.items():
        if not is_elf(file):
            continue
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("-d", file))
        for library in needed:
            if (
                library not in own
                and not OF_THE_SYSTEM.match(library)
                and not OF_LIBTORCH.match(library)
            ):
                sys.exit(
                    f"make_wheel.py: {file}: needs {library}, which users may not have; link it statically"
                )
        for kind, version in versions_needed(file).items():
            if kind == "GLIBC":
                glibc = max(glibc, version[:2])
            elif kind in NEWEST and version > NEWEST[kind]:
                text = ".".join(map(str, version))
                sys.exit(
                    f"make_wheel.py: {file}: needs {kind}_{text}, which older distributions lack"
                )
    return f"manylinux_{glibc[0]}_{glibc[1]}_x86_64"


# --- metadata ------------------------------------------------------------------------------------


def version_of(project: pathlib.Path) -> str:
    text = (project / "profiler/python/stepscope/__init__.py").read_text()
    return re.search(r'^__version__ = "(.*)"$', text, re.MULTILINE).group(1)


def metadata(about: dict, version: str, readme: str) -> str:
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {about['name']}",
        f"Version: {version}",
        f"Summary: {about['description']}",
        f"License: {about['license']['text']}",
        f"Requires-Python: {about['requires-python']}",
    ]
    for extra, requirements in about.get("optional-dependencies", {}).items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {one}; extra == "{extra}"' for one in requirements]
    return "\n".join([*lines, "Description-Content-Type: text/markdown", "", readme])


def third_party_licenses(folder: str) -> list[Entry]:
    """The licenses of what is linked in or bundled, as Debian ships them."""
    packages = ("libsqlite3-dev", "zlib1g-dev", "libsimdjson-dev", "libisal-dev", "libcli11-dev")
    packages += ("nlohmann-json3-dev", "libfmt-dev", "libjs-chart.js", "libstdc++-12-dev")
    entries = []
    for package in packages:
        for copyright in sorted(pathlib.Path("/usr/share/doc").glob(f"{package}/copyright")):
            entries.append(Entry(f"{folder}/{package}", copyright.read_bytes()))
    return entries


# --- the archive ---------------------------------------------------------------------------------


def entries_of(prefix: pathlib.Path, project: pathlib.Path, info: str, tag: str) -> list[Entry]:
    about = tomllib.loads((project / "profiler/python/pyproject.toml").read_text())["project"]
    version = version_of(project)
    entries = []
    for file in sorted((project / "profiler/python/stepscope").rglob("*")):
        if file.suffix == ".py" or file.name == "py.typed":
            name = file.relative_to(project / "profiler/python")
            entries.append(Entry(str(name), file.read_bytes()))
    for name, file in packed_files(prefix).items():
        shared = name.startswith(SHARED)
        where = f"stepscope-{version}.data/data" if shared else PREFIX
        entries.append(Entry(f"{where}/{name}", file.read_bytes(), os.access(file, os.X_OK)))
    scripts = "".join(f"{name} = {call}\n" for name, call in about["scripts"].items())
    readme = (project / "README.md").read_text()
    wheel = (
        f"Wheel-Version: 1.0\nGenerator: stepscope\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n"
    )
    entries += [
        Entry(f"{info}/METADATA", metadata(about, version, readme).encode()),
        Entry(f"{info}/WHEEL", wheel.encode()),
        Entry(f"{info}/entry_points.txt", f"[console_scripts]\n{scripts}".encode()),
        Entry(f"{info}/licenses/LICENSE", (project / "LICENSE").read_bytes()),
        *third_party_licenses(f"{info}/licenses/third_party"),
    ]
    return sorted(entries, key=lambda entry: entry.name)


def record(entries: list[Entry], info: str) -> Entry:
    lines = []
    for entry in entries:
        digest = (
            base64.urlsafe_b64encode(hashlib.sha256(entry.content).digest()).rstrip(b"=").decode()
        )
        lines.append(f"{entry.name},sha256={digest},{len(entry.content)}\n")
    lines.append(f"{info}/RECORD,,\n")
    return Entry(f"{info}/RECORD", "".join(lines).encode())


def write_archive(path: pathlib.Path, entries: list[Entry]) -> None:
    when = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315532800))[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry in entries:
            info = zipfile.ZipInfo(entry.name, when)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3  # Unix, so that the mode counts
            info.external_attr = (0o100755 if entry.is_program else 0o100644) << 16
            archive.writestr(info, entry.content)


def main(arguments: list[str]) -> None:
    if len(arguments) != 3:
        sys.exit(__doc__)
    prefix, project, output = map(pathlib.Path, arguments)
    tag = platform_tag(packed_files(prefix))
    version = version_of(project)
    info = f"stepscope-{version}.dist-info"
    entries = entries_of(prefix, project, info, tag)
    output.mkdir(parents=True, exist_ok=True)
    wheel = output / f"stepscope-{version}-py3-none-{tag}.whl"
    write_archive(wheel, [*entries, record(entries, info)])
    print(wheel)


if __name__ == "__main__":
    main(sys.argv[1:])
