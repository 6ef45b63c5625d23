"""libstepscope through ctypes: found, bound, and absent without a word.

The C side is profiler/include/stepscope/c_api.h. Functions that are a few instructions are called
with the interpreter lock held (PyDLL): to give it up and win it back could cost a training thread
5 ms where others compute. Those that may take long (start, stop) give it up (CDLL).
"""

from __future__ import annotations

import ctypes
import os
import pathlib
from typing import Any, Callable, Iterator, Optional

SONAMES = ("libstepscope.so.0", "libstepscope.so")


class Phase(ctypes.Structure):
    """stepscope_phase: a stretch that has been begun."""

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
    ]


class Library:
    """The functions of one loaded libstepscope. Raises AttributeError for one that is too old."""

    def __init__(self, handle: int) -> None:
        quick = ctypes.PyDLL(None, handle=handle)
        patient = ctypes.CDLL(None, handle=handle)

        def bind(dll: Any, name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
            function = getattr(dll, "stepscope_" + name)
            function.restype, function.argtypes = result, arguments
            return function

        text, phase = (ctypes.c_char_p, ctypes.c_size_t), ctypes.POINTER(Phase)  # text: bytes and their number
        self.is_recording = bind(quick, "is_recording", ctypes.c_int)
        self.step = bind(quick, "step", None)
        self.begin_scope = bind(quick, "begin_scope", Phase, *text)
        self.end_scope = bind(quick, "end_scope", None, phase)
        self.begin_input = bind(quick, "begin_input", Phase, *text)
        self.end_input = bind(quick, "end_input", None, phase, ctypes.c_int)
        self.begin_optimizer = bind(quick, "begin_optimizer", Phase, *text)
        self.end_optimizer = bind(quick, "end_optimizer", None, phase)
        self.begin_backward = bind(quick, "begin_backward", Phase)
        self.end_backward = bind(quick, "end_backward", None, phase)
        self.start = bind(patient, "start", ctypes.c_char_p, ctypes.POINTER(Options))
        self.stop = bind(patient, "stop", ctypes.c_char_p)
        try:
            self.torch_loaded = bind(patient, "torch_loaded", ctypes.c_int)
        except AttributeError:  # it says 1 of itself: recording
            self.torch_loaded = self.is_recording


_attached: Optional[Library] = None


def attached() -> Optional[Library]:
    """The libstepscope that was in this process already when this module was imported (under `stepscope
    run` it is from the start), or that load() brought in; else None."""
    return _attached


def load() -> Optional[Library]:
    """attached(), or one that came into the process since, or the first of _candidates() that can be
    loaded; None when none can."""
    global _attached
    if _attached is None:
        _attached = _in_process()
    if _attached is None:
        # Global, so that its stand-ins for libtorch's symbols are found.
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
    # LIB/stepscope/python/stepscope/_library.py; links are kept, a build tree has one for `python`.
    installed = pathlib.Path(os.path.abspath(__file__)).parents[3]
    for name in SONAMES:
        yield str(installed / name)
    yield from SONAMES  # where the loader looks: LD_LIBRARY_PATH, ld.so.conf


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
