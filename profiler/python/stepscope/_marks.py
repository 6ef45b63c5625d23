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
    """Says that a step of the calling thread's loop ends here. Steps so marked are believed before
    any other sign of one (loader, optimizer).

    As a decorator, `@stepscope.step`, of a function that is one training step: each call that
    returns ends a step.
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
    """Labels a stretch of the calling thread: `with stepscope.scope("checkpoint"): save()`.

    As a decorator, `@stepscope.scope("evaluation")`, of a function: each of its calls. (Of a generator
    or a coroutine function that would label its creation only, which is a TypeError.) One object may
    be used again, in itself and from several threads. `name`: any text; UTF-8 beyond 2,000 bytes is cut.
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
    """Those that a thread has entered and not left."""

    def __init__(self) -> None:
        self.phases: List[Optional[_library.Phase]] = []


# --- lengths() -----------------------------------------------------------------------------------


_LENGTHS_TEXT = 1900  # characters of one mark; a name may have 2,000


def lengths(values: Iterable[int], padded_to: Optional[int] = None) -> None:
    """Says how long each sample of the batch in hand really is: `stepscope.lengths(map(len, sentences))`.

    What a program computes for padding cannot be told from shapes; with the true lengths the analysis
    says what part of it is padding, and what sorting by length would bring. Between a batch's arrival and
    the end of its step or call. `padded_to`: what all are padded to; by default the longest of them.
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

    Of an iterable (a loader, a list, a generator): the same elements; each wait for one is marked, and
    so is the wait that finds the end. len() works where it worked, other attributes are the
    iterable's own (`stepscope.input(loader).sampler`), and an iterator stays one. A DataLoader needs it
    not: its waits are seen by themselves, and count once.

    As a decorator of a generator function: its generators. Of any other function: each call is a
    wait, for a `get_batch()`.

    `name` says which loader in reports; by default what the source calls itself. Raises TypeError for
    what is neither iterable nor callable.
    """
    label = _utf8(name if name is not None else _name_of(source))
    if isinstance(source, Iterator):
        return _Waits(source, label)
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
    """What `fetch()` returns or raises; its time is a wait for input. A StopIteration is the end."""
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
    """Everything that is not marked is the source's own."""

    def __init__(self, source: Any, label: bytes) -> None:
        self._source = source
        self._label = label

    def __getattr__(self, name: str) -> Any:
        if name in ("_source", "_label"):  # not there yet: being copied or unpickled
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


def _utf8(text: Union[str, bytes]) -> bytes:
    return text if isinstance(text, bytes) else str(text).encode("utf-8", "replace")
