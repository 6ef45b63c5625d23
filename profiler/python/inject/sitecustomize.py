"""Runs at the start of each Python of a program wrapped by `stepscope run`, which puts this folder on
PYTHONPATH. Waits for torch to be imported and tells Stepscope, lets `import stepscope` succeed, and is
not to be noticed otherwise: no import of its own, nothing printed, no entry left on sys.path, and the
program's own sitecustomize runs as if this one were not there. Where STEPSCOPE_SOCKET is not set, that is all it does.

It is read by whatever Python the program brings, so it keeps to the syntax that all of them know.
"""

import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))


class _ImportWatch(object):
    """A finder that finds nothing: it sees a module being imported, once, and goes away. `tell` is called then."""

    def __init__(self, name, tell):
        self._name, self._tell = name, tell

    def find_spec(self, name, path=None, target=None):
        if name == self._name:
            try:
                return self._watched(name, path, target)
            except Exception:  # whatever it is, the finders that follow are asked again
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

    # On the loader itself and for this one import: a loader of our own would be seen by the program
    # in torch.__loader__, and would have to know all that the real one can.
    def _watch(self, loader):
        exec_module = loader.exec_module

        def exec_and_tell(module):
            del loader.exec_module
            exec_module(module)
            try:
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                self._tell()
            except Exception:
                pass

        loader.exec_module = exec_and_tell


def _torch_imported():
    marks = _load_package()._torch
    marks.torch_imported()
    for name, tell in marks.LATER_IMPORTS.items():
        if name not in sys.modules:
            sys.meta_path.insert(0, _ImportWatch(name, tell))


class _StepscopePackage(object):
    """The last finder: `import stepscope` works in a wrapped program that has not installed it. A program's own
    `stepscope`, whatever that is, is found before."""

    def find_spec(self, name, path=None, target=None):
        return _package_spec(name) if name == "stepscope" else None


def _package_spec(name):
    import importlib.util

    folder = os.path.join(os.path.dirname(_FOLDER), "stepscope")
    return importlib.util.spec_from_file_location(
        name, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )


def _load_package():
    """The package beside this folder, under a name of its own: the program may have another version
    of it, or a module `stepscope` that has nothing to do with it."""
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
# The program's own, found as Python would have found it. Where there is none, this raises the
# ImportError that Python expects of a missing sitecustomize; what it raises itself, Python reports.
del sys.modules["sitecustomize"]
import sitecustomize  # noqa: E402,F401
