#!/usr/bin/env python3
"""Unpacks from a wheel of torch what the op hooks need to compile and link: headers and two
libraries.

usage: unpack_torch.py WHEEL FOLDER
"""

import re
import sys
import zipfile

WANTED = re.compile(
    r"torch/(include/.*|lib/lib(torch_cpu|c10)\.so|share/cmake/Torch/TorchConfig\.cmake|version\.py)$"
)


def main(arguments: list[str]) -> None:
    if len(arguments) != 2:
        sys.exit(__doc__)
    with zipfile.ZipFile(arguments[0]) as wheel:
        wheel.extractall(arguments[1], [name for name in wheel.namelist() if WANTED.match(name)])


if __name__ == "__main__":
    main(sys.argv[1:])
