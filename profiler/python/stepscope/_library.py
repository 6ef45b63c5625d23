"""Finds and binds libstepscope through ctypes; its absence is no error.

The C side is profiler/include/stepscope/c_api.h. Functions of a few instructions are called with
the interpreter lock (GIL) held (PyDLL): to release and reacquire it could cost a training thread
5 ms while other threads compute. Functions that may take long (start, stop) release it (CDLL).
"""

from __future__ import annotations

import ctypes
import os
import pathlib
import shutil
from typing import Any, Callable, Dict, Iterable, Iterator, Optional

from ._frames import hide_frame

SONAMES = ("libstepscope.so.0", "libstepscope.so")
WHEEL_PREFIX = pathlib.Path(os.path.abspath(__file__)).parent / "_prefix"  # from a wheel


def program_of_package() -> Optional[pathlib.Path]:
    """The `stepscope` program that belongs to this package: below it in a wheel; else in
    PREFIX/bin, with this package in PREFIX/LIB/stepscope/python."""
    folders = [WHEEL_PREFIX, *list(pathlib.Path(os.path.abspath(__file__)).parents)[4:6]]
    programs = (folder / "bin" / "stepscope" for folder in folders)
    return next((program for program in programs if _is_program(program)), None)


def program() -> Optional[str]:
    """The same, or the first one on PATH."""
    found = program_of_package()
    if found is not None:
        return str(found)
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    named = (shutil.which("stepscope", path=folder) for folder in folders if folder)
    return next((path for path in named if path and _is_program(pathlib.Path(path))), None)


def _is_program(path: pathlib.Path) -> bool:
    """Whether a file is there that is not the command that pip installs, which only calls
    __main__.main() of this package."""
    try:
        with open(path, "rb") as file:
            return b"stepscope.__main__" not in file.read(4096)
    except OSError:
        return False


Phase = Any  # an open phase or scope; opaque


class _CPhase(ctypes.Structure):
    """stepscope_phase."""

    _fields_ = [("opaque", ctypes.c_uint64 * 4)]


class Options(ctypes.Structure):
    """stepscope_options."""

    _fields_ = [
        ("output", ctypes.c_char_p),
        ("first_step", ctypes.c_int64),
        ("last_step", ctypes.c_int64),
        ("record_ops", ctypes.c_int),
        ("record_shapes", ctypes.c_int),
        ("ring_bytes", ctypes.c_size_t),
        ("budget", ctypes.c_double),
    ]


class Library:
    """The functions of a loaded libstepscope. Raises AttributeError if it is too old.

    Each begin_…(name) takes UTF-8 and returns an open phase, which must be passed to end_…() once,
    on the same thread; end_of_input() ends a wait that found the loader exhausted.
    """

    begin_scope: Callable[[bytes], Phase]
    end_scope: Callable[[Phase], None]
    begin_input: Callable[[bytes], Phase]
    end_input: Callable[[Phase], None]
    end_of_input: Callable[[Phase], None]
    begin_optimizer_step: Callable[[Any, str], None]  # (optimizer, name)
    end_optimizer_step: Callable[[Any], None]
    begin_optimizer: Callable[[bytes], Phase]
    end_optimizer: Callable[[Phase], None]
    begin_backward: Callable[[bytes], Phase]
    end_backward: Callable[[Phase], None]
    begin_closure: Callable[[bytes], Phase]
    end_closure: Callable[[Phase], None]
    in_zero_grad: Callable[[Callable[..., Any], Any, Any], Any]  # (function, arguments, named)
    # Built-in functions that PyTorch can call as hooks; None: there are none. The first one passes
    # what it takes to the function that on_closure() took last if there is more than the optimizer.
    before_optimizer_step: Optional[Callable[[Any, Any, Any], Any]] = None
    after_optimizer_step: Optional[Callable[[Any, Any, Any], None]] = None
    on_closure: Callable[[Callable[[Any, Any, Any], Any]], None]
    batch_comes_from: Callable[[int], None]

    def __init__(self, handle: int) -> None:
        quick = ctypes.PyDLL(None, handle=handle)
        patient = ctypes.CDLL(None, handle=handle)
        self.is_recording = _bind(quick, "is_recording", ctypes.c_int)
        self.step = _bind(quick, "step", None)
        self.marks_python_ranges = _bind(patient, "marks_python_ranges", None, ctypes.c_int)
        marks = _marks_of(quick)
        more = ("begin_module", "end_module", "watch_ops")
        hooks = ("before_optimizer_step", "after_optimizer_step", "on_closure")
        quick_marks = _quick_marks_of(quick, (*marks, *more, *hooks))
        vars(self).update(marks, **quick_marks)
        self.start = _bind(patient, "start", ctypes.c_char_p, ctypes.POINTER(Options))
        self.stop = _bind(patient, "stop", ctypes.c_char_p)
        try:
            self.torch_loaded = _bind(patient, "torch_loaded", ctypes.c_int)
        except AttributeError:  # is_recording() returns 1 as well: recording
            self.torch_loaded = self.is_recording


def _bind(dll: Any, name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    function = getattr(dll, "stepscope_" + name)
    function.restype, function.argtypes = result, arguments
    return function


def _marks_of(dll: Any) -> Dict[str, Callable[..., Any]]:
    """The marks through ctypes."""
    named, open_phase = (ctypes.c_char_p, ctypes.c_size_t), ctypes.POINTER(_CPhase)
    begin = {
        kind: _bind(dll, "begin_" + kind, _CPhase, *named)
        for kind in ("scope", "input", "optimizer")
    }
    unnamed = ("backward", "closure")
    begin_unnamed = {kind: _bind(dll, "begin_" + kind, _CPhase) for kind in unnamed}
    end = {
        kind: _bind(dll, "end_" + kind, None, open_phase)
        for kind in ("scope", "optimizer", *unnamed)
    }
    begin_zero_grad = _bind(dll, "begin_zero_grad", _CPhase)
    end_zero_grad = _bind(dll, "end_zero_grad", None, open_phase)
    end_input = _bind(dll, "end_input", None, open_phase, ctypes.c_int)
    begin_step = _bind(dll, "begin_optimizer_step", None, ctypes.c_void_p, *named)
    end_step = _bind(dll, "end_optimizer_step", None, ctypes.c_void_p)

    def begin_optimizer_step(optimizer: Any, name: str) -> None:
        text = name.encode("utf-8", "replace")
        begin_step(id(optimizer), text, len(text))

    def in_zero_grad(function: Callable[..., Any], arguments: Any, named: Any) -> Any:
        begun = begin_zero_grad()
        try:
            return function(*arguments, **named)
        except BaseException:
            hide_frame()
            raise
        finally:
            end_zero_grad(ctypes.byref(begun))

    def beginning(function: Callable[..., Any]) -> Callable[[bytes], Phase]:
        return lambda name: function(name, len(name))

    def beginning_unnamed(function: Callable[..., Any]) -> Callable[[bytes], Phase]:
        return lambda name: function()

    def ending(function: Callable[..., Any], *more: Any) -> Callable[[Phase], None]:
        return lambda phase: function(ctypes.byref(phase), *more)

    return {
        **{"begin_" + kind: beginning(function) for kind, function in begin.items()},
        **{"end_" + kind: ending(function) for kind, function in end.items()},
        **{
            "begin_" + kind: beginning_unnamed(function) for kind, function in begin_unnamed.items()
        },
        "in_zero_grad": in_zero_grad,
        "begin_optimizer_step": begin_optimizer_step,
        "end_optimizer_step": lambda optimizer: end_step(id(optimizer)),
        "end_input": ending(end_input, 0),
        "end_of_input": ending(end_input, 1),
        "batch_comes_from": _bind(dll, "batch_comes_from", None, ctypes.c_int64),
    }


def _quick_marks_of(dll: Any, names: Iterable[str]) -> Dict[str, Callable[..., Any]]:
    """The same as built-in functions of CPython, if this is CPython and the library provides
    them."""
    if not hasattr(dll, "stepscope_python_function"):
        return {}
    make = _bind(dll, "python_function", ctypes.py_object, ctypes.c_char_p)
    try:
        return {name: make(name.encode()) for name in names}
    except ValueError:  # it returned NULL
        return {}


_attached: Optional[Library] = None


def attached() -> Optional[Library]:
    """The libstepscope that was already in this process when this module was imported (under
    `stepscope run`, it is there from the start), or that load() loaded; else None."""
    return _attached


def load() -> Optional[Library]:
    """Returns attached(), or a library that came into the process since, or the first of
    _candidates() that can be loaded; None if none can."""
    global _attached
    if _attached is None:
        _attached = _in_process()
    if _attached is None:
        # RTLD_GLOBAL, so that its replacements of libtorch's symbols are found.
        opened = (_opened(path, ctypes.RTLD_GLOBAL) for path in _candidates())
        _attached = next(filter(None, opened), None)
    return _attached


def _in_process() -> Optional[Library]:
    whole_process = ctypes.CDLL(None)
    if hasattr(whole_process, "stepscope_step"):
        return _bound(whole_process._handle)
    for name in SONAMES:
        library = _opened(name, os.RTLD_NOLOAD | os.RTLD_NOW)
        if library is not None:
            return library
    return None


def _candidates() -> Iterator[str]:
    named = os.environ.get("STEPSCOPE_LIBRARY")
    if named:
        yield named
    # LIB/stepscope/python/stepscope/_library.py. Links are not resolved: in a build tree, `python`
    # is one.
    installed = pathlib.Path(os.path.abspath(__file__)).parents[3]
    for folder in (WHEEL_PREFIX / "lib", installed):
        for name in SONAMES:
            yield str(folder / name)
    yield from SONAMES  # found by the system's loader: LD_LIBRARY_PATH, ld.so.conf


def _opened(path: str, mode: int) -> Optional[Library]:
    try:
        return _bound(ctypes.CDLL(path, mode=mode)._handle)
    except OSError:
        return None


def _bound(handle: int) -> Optional[Library]:
    try:
        return Library(handle)
    except AttributeError:
        return None


_attached = _in_process()
