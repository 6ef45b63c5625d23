"""step(), scope(), input() and lengths()."""

from __future__ import annotations

import functools
import inspect
import threading
from types import TracebackType
from typing import (
    Any,
    Callable,
    Generic,
    Iterable,
    Iterator,
    List,
    Optional,
    Sized,
    Type,
    TypeVar,
    Union,
    overload,
)

from . import _library

T = TypeVar("T")
Function = TypeVar("Function", bound=Callable[..., Any])


def is_recording() -> bool:
    """True while the process is being recorded, by `stepscope run` or by record()."""
    library = _library.attached()
    return library is not None and bool(library.is_recording())


# --- step() --------------------------------------------------------------------------------------


@overload
def step() -> None: ...
@overload
def step(function: Function) -> Function: ...
def step(function: Optional[Callable[..., Any]] = None) -> Any:
    """Ends the current step of the calling thread's loop. These marks take precedence over other
    signs of a step (loader, optimizer).

    `@stepscope.step` decorates a function that does one training step: each call that returns ends
    a step.
    """
    if function is not None:
        return _ending_step(function)
    library = _library.attached()
    if library is not None:
        library.step()
    return None


def _ending_step(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def stepped(*arguments: Any, **named: Any) -> Any:
        result = function(*arguments, **named)
        step()
        return result

    return stepped


# --- scope() -------------------------------------------------------------------------------------


class scope:
    """A named scope of the calling thread: `with stepscope.scope("checkpoint"): save()`.

    `@stepscope.scope("evaluation")` decorates a function: each call is a scope. (For a generator or
    coroutine function, this would cover only its creation, so it raises TypeError.) One object may
    be reused, nested in itself, and used by several threads. `name`: any text; UTF-8 beyond 2,000
    bytes is cut.
    """

    def __init__(self, name: str) -> None:
        self._name = _utf8(name)
        self._open = _OpenPhases()

    def __enter__(self) -> scope:
        library = _library.attached()
        phase = None if library is None else library.begin_scope(self._name)
        self._open.phases.append(phase)
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        phase = self._open.phases.pop()
        library = _library.attached()
        if phase is not None and library is not None:
            library.end_scope(phase)

    def __call__(self, function: Function) -> Function:
        if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
            raise TypeError("stepscope.scope: use `with` inside a generator or coroutine function")

        @functools.wraps(function)
        def scoped(*arguments: Any, **named: Any) -> Any:
            with self:
                return function(*arguments, **named)

        return scoped  # type: ignore[return-value]


class _OpenPhases(threading.local):
    """The scopes that a thread has entered and not left."""

    def __init__(self) -> None:
        self.phases: List[Optional[_library.Phase]] = []


# --- lengths() -----------------------------------------------------------------------------------


_LENGTHS_TEXT = 1900  # characters per mark; a name may have 2,000


def lengths(values: Iterable[int], padded_to: Optional[int] = None) -> None:
    """Marks the true length of each sample in the current batch:
    `stepscope.lengths(map(len, sentences))`.

    Shapes do not show how much of the computation is padding. With the true lengths, the analysis
    reports this share and the gain from sorting by length. Call it between a batch's arrival and
    the end of its step or inference call. `padded_to`: the length that all samples are padded to;
    by default the longest of them.
    """
    library = _library.attached()
    if library is None or not library.is_recording():
        return
    begin = "lengths" if padded_to is None else f"lengths/{int(padded_to)}"
    for text in _cut_texts(begin, (str(int(value)) for value in values)):
        library.end_scope(library.begin_scope(text.encode()))


def _cut_texts(begin: str, words: Iterable[str]) -> Iterator[str]:
    text = begin
    for word in words:
        if len(text) + len(word) >= _LENGTHS_TEXT:
            yield text
            text = begin
        text += " " + word
    if text != begin:
        yield text


# --- input() -------------------------------------------------------------------------------------


@overload
def input(source: Iterable[T], name: Optional[str] = None) -> Iterable[T]: ...
@overload
def input(source: Function, name: Optional[str] = None) -> Function: ...
def input(source: Any, name: Optional[str] = None) -> Any:
    """Marks each wait for a batch as input.

    An iterable (a loader, a list, a generator) gives the same elements; each wait for an element is
    marked, and so is the wait that finds the end. len() works if it worked before, other attributes
    are the iterable's own (`stepscope.input(loader).sampler`), and an iterator stays an iterator. A
    DataLoader does not need this: its waits are seen anyway, and are counted only once.

    Also decorates functions. For a generator function, it marks the waits of its generators; for
    any other function, such as `get_batch()`, each call is a wait.

    `name` is the loader's name in reports; by default the name of the source. Raises TypeError if
    the source is neither iterable nor callable.
    """
    label = _utf8(name if name is not None else _name_of(source))
    if isinstance(source, Iterator):
        return (_SizedWaits if isinstance(source, Sized) else _Waits)(source, label)
    if hasattr(type(source), "__iter__") or hasattr(type(source), "__getitem__"):
        return (_SizedInput if isinstance(source, Sized) else _Input)(source, label)
    if callable(source):
        return _waiting(source, label)
    raise TypeError(
        f"stepscope.input: {type(source).__name__!r} object is neither iterable nor a function"
    )


def _name_of(source: Any) -> str:
    return str(getattr(source, "__name__", None) or type(source).__name__)


def _waiting(function: Callable[..., Any], label: bytes) -> Callable[..., Any]:
    @functools.wraps(function)
    def batches(*arguments: Any, **named: Any) -> Iterator[Any]:
        return _Waits(function(*arguments, **named), label)

    @functools.wraps(function)
    def batch(*arguments: Any, **named: Any) -> Any:
        return wait(functools.partial(function, *arguments, **named), label)

    return batches if inspect.isgeneratorfunction(function) else batch


def wait(fetch: Callable[[], T], label: bytes) -> T:
    """Calls `fetch()` and passes on what it returns or raises; its time is a wait for input.
    StopIteration means that the loader is exhausted."""
    library = _library.attached()
    if library is None:
        return fetch()
    phase, end = library.begin_input(label), library.end_input
    try:
        return fetch()
    except StopIteration:
        end = library.end_of_input
        raise
    finally:
        end(phase)


class _Forwarding(Generic[T]):
    """Forwards everything that is not marked to the source."""

    def __init__(self, source: Any, label: bytes) -> None:
        self._source = source
        self._label = label

    def __getattr__(self, name: str) -> Any:
        if name in ("_source", "_label"):  # not set yet: the object is being copied or unpickled
            raise AttributeError(name)
        return getattr(self._source, name)

    def __repr__(self) -> str:
        return f"stepscope.input({self._source!r})"


class _Input(_Forwarding[T]):
    def __iter__(self) -> Iterator[T]:
        return _Waits(iter(self._source), self._label)


class _SizedInput(_Input[T]):
    def __len__(self) -> int:
        return len(self._source)


class _Waits(_Forwarding[T]):
    def __init__(self, source: Iterator[T], label: bytes) -> None:
        super().__init__(source, label)
        self._fetch = source.__next__

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        return wait(self._fetch, self._label)


class _SizedWaits(_Waits[T]):
    def __len__(self) -> int:
        return len(self._source)


def _utf8(text: Union[str, bytes]) -> bytes:
    return text if isinstance(text, bytes) else str(text).encode("utf-8", "replace")
