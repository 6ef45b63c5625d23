"""Replaces functions of classes and modules by ones that mark their calls, and undoes it.

A wrapper must not raise into the program, or change what a call returns or raises.
"""

from __future__ import annotations

import functools
import sys
from types import ModuleType
from typing import Any, Callable, Dict, Iterator, List

from . import _library
from ._frames import hide_frame

Undo = Callable[[], Any]

MARKED = "_stepscope_marked"  # an attribute of all that is wrapped, by any copy of this module


def attribute(module: str, name: str) -> Any:
    return getattr(sys.modules.get(module), name, None)


def wrap(
    owner: Any, name: str, wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> List[Undo]:
    """Replaces a function of a class or module by wrapper(function), unless it is already wrapped.
    A module's function is replaced in all modules that hold it, under any name: pickle finds a
    function by its `__module__` and `__qualname__`, and refuses it if another object is there."""
    original = getattr(owner, name, None)
    if original is None or getattr(original, MARKED, False):
        return []
    inherited = name not in vars(owner)
    wrapped = wrapper(original)
    setattr(wrapped, MARKED, True)
    setattr(owner, name, wrapped)
    if isinstance(owner, ModuleType):
        _replace_in_modules(original, wrapped)
        # If somebody has wrapped ours, that stays.
        return [lambda: _replace_in_modules(wrapped, original)]

    def unwrap() -> None:
        if vars(owner).get(name) is not wrapped:  # somebody has wrapped ours: it must stay
            return
        if inherited:
            delattr(owner, name)
        else:
            setattr(owner, name, original)

    return [unwrap]


def _replace_in_modules(function: Any, replacement: Any) -> None:
    for names in _names_of_modules():
        for name, value in list(names.items()):
            if value is function:
                names[name] = replacement


def _names_of_modules() -> Iterator[Dict[str, Any]]:
    """Runs no code of the modules: vars() would load one that is imported lazily, and isinstance()
    may read an attribute."""
    names_of = vars(ModuleType)["__dict__"].__get__
    for module in list(sys.modules.values()):
        if issubclass(type(module), ModuleType):
            yield names_of(module) or {}


def in_phase(
    function: Callable[..., Any],
    begin: Callable[[bytes], _library.Phase],
    end: Callable[[_library.Phase], None],
    name: bytes = b"",
) -> Callable[..., Any]:
    """Wraps a function so that each call is a phase."""

    @functools.wraps(function)
    def phase(*arguments: Any, **named: Any) -> Any:
        begun = begin(name)
        try:
            return function(*arguments, **named)
        except BaseException:
            hide_frame()
            raise
        finally:
            end(begun)

    return phase


def find_is_compiling() -> Callable[[], bool]:
    """The function that says whether torch.compile is tracing the caller."""
    compiler = sys.modules.get("torch.compiler")
    for name in ("is_dynamo_compiling", "is_compiling"):
        if hasattr(compiler, name):
            return getattr(compiler, name)
    return lambda: False
