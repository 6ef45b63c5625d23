"""Holds interrupts (SIGINT, Ctrl-C) back while something must not be left half done."""

from __future__ import annotations

import contextlib
import signal
from types import FrameType
from typing import Any, Callable, Iterator, List, Optional

_Handler = Callable[[int, Optional[FrameType]], Any]


@contextlib.contextmanager
def hold_interrupts() -> Iterator[None]:
    """While this lasts, an interrupt is only noted. At the end, the program's own handler gets each
    one; Python's raises KeyboardInterrupt. May be nested."""
    noted: List[int] = []
    handler = _replace_handler(lambda number, frame: noted.append(number))
    try:
        yield
    finally:
        if handler is not None:
            signal.signal(signal.SIGINT, handler)
            for number in noted:
                handler(number, None)


def _replace_handler(handler: _Handler) -> Optional[_Handler]:
    """Returns the handler that it replaced. None: it replaced none, because an interrupt raises
    nothing here: the handler is not a function, or this is not the main thread."""
    before = signal.getsignal(signal.SIGINT)
    if not callable(before):
        return None
    try:
        signal.signal(signal.SIGINT, handler)
    except ValueError:  # not the main thread
        return None
    return before
