"""Runs at the start of each Python in a program wrapped by `stepscope run`, which puts this folder
on PYTHONPATH. Tells Stepscope when torch has been imported, and makes `import stepscope` succeed.
The program must not notice it otherwise: it imports nothing extra, prints nothing, leaves no entry
on sys.path, and lets the program's own sitecustomize run as usual. Without STEPSCOPE_SOCKET, it
only removes its entry from sys.path and runs the program's own sitecustomize.

The program's Python reads it, whatever its version, so it uses only syntax that all of them
understand.
"""

import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))


class _ImportWatch(object):
    """A finder that only watches for the import of one module. Calls `tell` after the import and
    removes itself."""

    def __init__(self, name, tell):
        self._name, self._tell = name, tell

    def find_spec(self, name, path=None, target=None):
        if name == self._name:
            try:
                return self._watched(name, path, target)
            except Exception:  # whatever went wrong, the finders that follow try again
                pass
        return None

    def _watched(self, name, path, target):
        spec = self._spec_of_others(name, path, target)
        if spec is not None:
            self._watch(spec.loader)
        return spec

    def _spec_of_others(self, name, path, target):
        for finder in list(sys.meta_path):
            if finder is not self and hasattr(finder, "find_spec"):
                spec = finder.find_spec(name, path, target)
                if spec is not None:
                    return spec
        return None

    # Patches the loader itself, for this one import: the program would see a loader of our own in
    # torch.__loader__, and that would have to support everything that the real one does.
    def _watch(self, loader):
        exec_module = loader.exec_module

        def exec_and_tell(module):
            del loader.exec_module
            try:
                exec_module(module)
            except BaseException:
                _hide_frame()
                raise
            try:
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                self._tell()
            except Exception:
                pass

        loader.exec_module = exec_and_tell


def _hide_frame():
    """As in stepscope/_frames.py: removes the caller's frame from the traceback of its exception."""
    _, error, traceback = sys.exc_info()
    if error is not None and traceback is not None:
        BaseException.with_traceback(error, traceback.tb_next)


def _torch_imported():
    marks = _load_package()._torch
    marks.torch_imported()
    for name, tell in marks.LATER_IMPORTS.items():
        if name not in sys.modules:
            sys.meta_path.insert(0, _ImportWatch(name, tell))


class _StepscopePackage(object):
    """The last finder: makes `import stepscope` work in a wrapped program that has not installed
    it. If the program has its own `stepscope`, that is found first."""

    def find_spec(self, name, path=None, target=None):
        return _package_spec(name) if name == "stepscope" else None


def _package_spec(name):
    import importlib.util

    folder = os.path.join(os.path.dirname(_FOLDER), "stepscope")
    return importlib.util.spec_from_file_location(
        name, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )


def _load_package():
    """Loads the package beside this folder under a separate name: the program may have another
    version of it, or an unrelated module `stepscope`."""
    import importlib.util

    name = "_stepscope_injected"
    spec = _package_spec(name)
    package = importlib.util.module_from_spec(spec)
    sys.modules[name] = package
    spec.loader.exec_module(package)
    return package


def _install_finders():
    if not os.environ.get("STEPSCOPE_SOCKET") or sys.version_info < (3, 8):
        return
    if "torch" not in sys.modules:
        sys.meta_path.insert(0, _ImportWatch("torch", _torch_imported))
    sys.meta_path.append(_StepscopePackage())


def _leave_path():
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != _FOLDER]
    for entry in list(sys.path_importer_cache):
        if os.path.abspath(entry) == _FOLDER:
            del sys.path_importer_cache[entry]


try:
    _install_finders()
except Exception:
    pass
_leave_path()
# The program's own sitecustomize, found as Python would have found it. If there is none, this
# raises the ImportError that Python expects then; if it raises an exception itself, Python reports
# that.
del sys.modules["sitecustomize"]
import sitecustomize  # noqa: E402,F401
