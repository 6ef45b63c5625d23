"""Runs at the start of each Python in a program wrapped by `stepscope run`, which puts this folder
on PYTHONPATH. Starts what watches the program's imports (stepscope/_start.py). The program must not
notice it otherwise: it imports nothing extra, prints nothing, leaves no entry on sys.path, and lets
the program's own sitecustomize run as usual. Without STEPSCOPE_SOCKET, it only removes its entry
from sys.path and runs the program's own sitecustomize.

The program's Python reads it, whatever its version, so it uses only syntax that all of them
understand.

Python runs this file under its own name, so a coverage tool that is already active, as in a
program's subprocesses, lists it. So everything in it is excluded from coverage, and all else is in
the other file, whose name is hidden.
"""

import os  # pragma: no cover
import sys  # pragma: no cover

_FOLDER = os.path.dirname(os.path.abspath(__file__))  # pragma: no cover


def _start():  # pragma: no cover
    if not os.environ.get("STEPSCOPE_SOCKET") or sys.version_info < (3, 8):
        return
    from _frozen_importlib_external import SourceFileLoader

    _renamed.__code__ = _renamed(_renamed.__code__, "sitecustomize.py")  # it is called later, too
    folder = os.path.join(os.path.dirname(_FOLDER), "stepscope")
    name = "_start"
    code = SourceFileLoader(name, os.path.join(folder, name + ".py")).get_code(name)
    scope = {"__name__": "_stepscope_start", "PACKAGE_FOLDER": folder, "renamed": _renamed}
    exec(_renamed(code, name + ".py"), scope)


def _renamed(code, file):  # pragma: no cover
    """The same code with a file name that coverage tools leave out."""
    constants = [
        _renamed(value, file) if isinstance(value, type(code)) else value
        for value in code.co_consts
    ]
    return code.replace(co_filename="<stepscope " + file + ">", co_consts=tuple(constants))


def _leave_path():  # pragma: no cover
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != _FOLDER]
    for entry in list(sys.path_importer_cache):
        if os.path.abspath(entry) == _FOLDER:
            del sys.path_importer_cache[entry]


try:  # pragma: no cover
    _start()
except Exception:  # pragma: no cover
    pass
_leave_path()  # pragma: no cover
# The program's own sitecustomize, found as Python would have found it. If there is none, this
# raises the ImportError that Python expects then; if it raises an exception itself, Python reports
# that.
del sys.modules["sitecustomize"]  # pragma: no cover
import sitecustomize  # noqa: E402,F401  # pragma: no cover
