"""Replaces the closure of an optimizer step by one that marks its calls.

The optimizer may do more with a closure than call it: inspect its parameters, keep attributes on
it. So only what can be replaced unnoticed is replaced: functions written in Python, their bound
methods, and functools.partial of either. The replacement has the same type, parameters and
`__dict__`; an attribute that is set on one is on both. Anything else stays as it is, unmarked: an
object with __call__() may have any attributes and state, and what is passed to a program's own
step() need not be a closure at all.
"""

from __future__ import annotations

import functools
import inspect
from types import CodeType, FunctionType, MethodType
from typing import Any, Callable, Dict, List, Optional

from . import _library
from ._frames import hide_frame

# No parameter of the program's has such a name.
_SOURCE = """
def _stepscope_make(_stepscope_library, _stepscope_closure):
    _stepscope_begin = _stepscope_library.begin_closure
    _stepscope_end = _stepscope_library.end_closure

    def marked({parameters}):
        _stepscope_phase = _stepscope_begin(b"")
        try:
            return _stepscope_closure({arguments})
        except BaseException:
            _stepscope_hide_frame()
            raise
        finally:
            _stepscope_end(_stepscope_phase)

    return marked
"""
_GLOBALS: Dict[str, Any] = {"__name__": __name__, "_stepscope_hide_frame": hide_frame}
_KEPT = 64  # how many closures' sources are kept compiled

_NOT_CALLS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR

Maker = Callable[[_library.Library, FunctionType], FunctionType]


def marked_closure(library: _library.Library, closure: Any) -> Any:
    """None: the closure must stay, or is marked already. Runs no code of the closure."""
    kind = type(closure)
    if kind is FunctionType:
        return _marked_function(library, closure)
    if kind is MethodType:
        function = marked_closure(library, closure.__func__)
        return None if function is None else MethodType(function, closure.__self__)
    if kind is functools.partial:
        function = marked_closure(library, closure.func)
        return None if function is None else _partial_of(function, closure)
    return None


def _marked_function(library: _library.Library, function: FunctionType) -> Optional[FunctionType]:
    if function.__globals__ is _GLOBALS:  # an optimizer passes it on to another
        return None
    make = _maker(function.__code__)
    if make is None:
        return None
    marked = make(library, function)
    functools.update_wrapper(marked, function, updated=())
    marked.__defaults__, marked.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    marked.__dict__ = function.__dict__  # also drops the `__wrapped__` of update_wrapper()
    return marked


def _partial_of(function: Any, partial: Any) -> Any:
    # Unlike the constructor, this shares both dictionaries.
    marked = functools.partial(function)
    marked.__setstate__((function, partial.args, partial.keywords, partial.__dict__))
    return marked


@functools.lru_cache(maxsize=_KEPT)
def _maker(code: CodeType) -> Optional[Maker]:
    """Makes marked functions with the parameters of `code`. None: its calls do not run it."""
    if code.co_flags & _NOT_CALLS:
        return None
    made: Dict[str, Any] = {}
    try:
        # In this file, because the line sampler leaves out the frames of the package's files. Under
        # `stepscope run`, its name in code is not __file__ (_start.py).
        exec(compile(_source(code), _source.__code__.co_filename, "exec"), _GLOBALS, made)
    except SyntaxError:  # a compiler of another language may have named a parameter
        return None
    return made["_stepscope_make"]


def _source(code: CodeType) -> str:
    names = list(code.co_varnames)
    count, only_by_name = code.co_argcount, code.co_kwonlyargcount
    positional, by_name = names[:count], names[count : count + only_by_name]
    others = iter(names[count + only_by_name :])  # *arguments, then **named

    parameters: List[str] = list(positional)
    arguments: List[str] = list(positional)
    if code.co_posonlyargcount:
        parameters.insert(code.co_posonlyargcount, "/")
    if code.co_flags & inspect.CO_VARARGS:
        rest = "*" + next(others)
        parameters.append(rest)
        arguments.append(rest)
    elif by_name:
        parameters.append("*")
    parameters += by_name
    arguments += [f"{name}={name}" for name in by_name]
    if code.co_flags & inspect.CO_VARKEYWORDS:
        rest = "**" + next(others)
        parameters.append(rest)
        arguments.append(rest)
    return _SOURCE.format(parameters=", ".join(parameters), arguments=", ".join(arguments))
