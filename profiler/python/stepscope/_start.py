"""Run by inject/sitecustomize.py at the start of each Python in a wrapped program: tells Stepscope
when torch has been imported, and makes `import stepscope` succeed. It imports no module before that.

Coverage tools list each file whose code they see run, and a program's coverage must not fall
because Stepscope runs. They leave out code whose file name cannot be that of a file, such as
"<string>". So under `stepscope run` the code of this package has file names such as
"<stepscope _torch.py>", which the recorder knows too (profiler/recorder/stack_looks.cc).
`__file__` is still the real file.

This is no module of the package: it runs before the package is loaded, with globals of its own.
"""

import os
import sys

# Part of every Python; importlib.machinery is not, until somebody imports it.
from _frozen_importlib_external import SourceFileLoader, spec_from_file_location

# Given by inject/sitecustomize.py.
_FOLDER = globals()["PACKAGE_FOLDER"]
_renamed = globals()["renamed"]

# The `__path__` of the package, in which Python's own finders find nothing.
_PATH = "<stepscope>"


class _ImportWatch:
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
    """As in _frames.py: removes the caller's frame from the traceback of its exception."""
    _, error, traceback = sys.exc_info()
    if error is not None and traceback is not None:
        BaseException.with_traceback(error, traceback.tb_next)


def _torch_imported():
    marks = _load_package()._torch
    marks.torch_imported()
    for name, tell in marks.LATER_IMPORTS.items():
        if name not in sys.modules:
            sys.meta_path.insert(0, _ImportWatch(name, tell))


class _StepscopePackage:
    """The last finder: finds the modules of the package, and makes `import stepscope` work in a
    wrapped program that has not installed it. If the program has its own `stepscope`, that is found
    first."""

    def find_spec(self, name, path=None, target=None):
        if name == "stepscope":
            return _package_spec(name)
        if isinstance(path, list) and path == [_PATH]:
            return _spec(name, name.rpartition(".")[2] + ".py")
        return None


def _package_spec(name):
    return _spec(name, "__init__.py", submodule_search_locations=[_PATH])


def _spec(name, file, **options):
    """None: there is no such file."""
    path = os.path.join(_FOLDER, file)
    if not os.path.isfile(path):
        return None
    return spec_from_file_location(name, path, loader=_Loader(name, path), **options)


class _Loader(SourceFileLoader):
    def get_code(self, fullname):
        code = super().get_code(fullname)
        return _renamed(code, os.path.basename(self.path))


def _load_package():
    """Loads the package under a separate name: the program may have another version of it, or an
    unrelated module `stepscope`."""
    import importlib.util

    name = "_stepscope_injected"
    spec = _package_spec(name)
    package = importlib.util.module_from_spec(spec)
    sys.modules[name] = package
    spec.loader.exec_module(package)
    return package


if "torch" not in sys.modules:
    sys.meta_path.insert(0, _ImportWatch("torch", _torch_imported))
sys.meta_path.append(_StepscopePackage())
