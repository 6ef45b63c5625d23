#!/usr/bin/env python3
"""Makes stubs of an older glibc to link against, from the glibc of this machine.

usage: glibc_stubs.py FOLDER VERSION [COMPILER]

glibc keeps every version of a symbol that it ever had, and the linker takes the newest. The stubs
have, for each symbol, the newest version that is not newer than VERSION ("2.28"), so a program
linked with -LFOLDER runs with glibc VERSION and newer. A symbol that VERSION did not have is
missing from the stubs: the link fails and names it. Replacements belong in glibc_2_28.cc.

Writes libc.so, libm.so, libpthread.so and libdl.so. The latter two are empty: before 2.34 they were
separate libraries, which a program must load there.
"""

import pathlib
import re
import subprocess
import sys

# Num: Value Size Type Bind Vis Ndx Name@@VERSION
SYMBOL = re.compile(
    r"\s*\d+:\s+\w+\s+(\w+)\s+(FUNC|IFUNC|OBJECT)\s+(?:GLOBAL|WEAK)\s+DEFAULT\s+(\d+)\s+(\w+)@@?GLIBC_([\d.]+)$"
)


def file_of(compiler: str, name: str) -> pathlib.Path:
    """A file that the compiler links with."""
    found = subprocess.run(
        [compiler, f"-print-file-name={name}"], check=True, capture_output=True, text=True
    ).stdout.strip()
    if "/" not in found:
        sys.exit(f"glibc_stubs.py: {compiler} knows no {name}; install glibc's development files")
    return pathlib.Path(found)


def number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def symbols(library: pathlib.Path, newest: str) -> dict[str, tuple[str, str, int]]:
    """Returns for each symbol its version, type and size."""
    listed = subprocess.run(
        ["readelf", "-W", "--dyn-syms", library], check=True, capture_output=True, text=True
    ).stdout
    found: dict[str, tuple[str, str, int]] = {}
    for line in listed.splitlines():
        if not (match := SYMBOL.match(line)):
            continue
        size, kind, _, name, version = match.groups()
        if number(version) > number(newest):
            continue
        if name not in found or number(found[name][0]) < number(version):
            found[name] = (version, kind, int(size, 0))
    return found


def assembly(found: dict[str, tuple[str, str, int]]) -> str:
    lines = []
    for name, (version, kind, size) in sorted(found.items()):
        section, what = (".data", "object") if kind == "OBJECT" else (".text", "function")
        lines += [
            section,
            f".globl stub_{name}",
            f".type stub_{name}, @{what}",
            f"stub_{name}: .skip {max(size, 1) if what == 'object' else 1}",
            f".size stub_{name}, {size}",
            f".symver stub_{name}, {name}@@GLIBC_{version}, remove",
        ]
    return "\n".join([*lines, '.section .note.GNU-stack,"",@progbits', ""])


def write_stub(
    compiler: str, library: pathlib.Path, soname: str, found: dict[str, tuple[str, str, int]]
) -> None:
    source, script = library.with_suffix(".s"), library.with_suffix(".map")
    source.write_text(assembly(found))
    versions = sorted({version for version, _, _ in found.values()}, key=number)
    script.write_text("".join(f"GLIBC_{version} {{ }};\n" for version in versions) or "{ };\n")
    subprocess.run(
        [
            compiler,
            "-shared",
            "-nostdlib",
            f"-Wl,-soname,{soname}",
            f"-Wl,--version-script={script}",
        ]
        + ["-o", library, "-x", "assembler", source],
        check=True,
    )


def main(arguments: list[str]) -> None:
    if len(arguments) not in (2, 3):
        sys.exit(__doc__)
    folder, newest = pathlib.Path(arguments[0]).resolve(), arguments[1]
    compiler = arguments[2] if len(arguments) > 2 else "cc"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("m", "pthread", "dl", "c"):
        real = file_of(
            compiler, f"lib{name}.so.{0 if name == 'pthread' else 2 if name == 'dl' else 6}"
        )
        found = symbols(real, newest) if name in "mc" else {}
        target = folder / (f"lib{name}.so" if name != "c" else real.name)
        write_stub(compiler, target, real.name, found)
    # Like glibc's own libc.so: a few functions are linked into every program, and the loader has
    # the # thread-local variables.
    rest = file_of(compiler, "libc_nonshared.a"), file_of(compiler, "ld-linux-x86-64.so.2")
    (folder / "libc.so").write_text(
        f"GROUP ( {folder / 'libc.so.6'} {rest[0]} AS_NEEDED ( {rest[1]} ) )\n"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
