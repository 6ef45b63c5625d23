"""Whether a recorder is writing to a store: it holds a lock on one byte, far behind the data (store/store_file.cc)."""

import fcntl
import pathlib
import struct

_RECORDING_BYTE = 1 << 62
_FLOCK = "hhqqi0q"  # struct flock: type, whence, start, length, pid


def is_being_recorded(path: pathlib.Path) -> bool:
    """Call it before SQLite opens the file: closing it here would end SQLite's locks. False if nobody can know."""
    try:
        with path.open("rb") as file:
            request = struct.pack(_FLOCK, fcntl.F_WRLCK, 0, _RECORDING_BYTE, 1, 0)
            found = fcntl.fcntl(file, fcntl.F_OFD_GETLK, request)
    except (OSError, AttributeError):  # a file system without locks; a system without this request
        return False
    return struct.unpack(_FLOCK, found)[0] != fcntl.F_UNLCK
