"""record(): recording from inside the program, for notebooks."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import sys
from types import TracebackType
from typing import List, Optional, Tuple, Type, Union

from . import _library, _torch
from ._interrupts import hold_interrupts
from ._wrap import Undo


class Recording(contextlib.ContextDecorator):
    """Records this process from the beginning of its `with` block (or start()) to the end (or
    stop()), at the latest when the interpreter exits.

    A process forked meanwhile is not recorded; `stepscope run` records all processes of a program.
    Only one recording can run at a time: while another runs, for example under `stepscope run`, it
    records nothing and says so. If nothing can be recorded, one line on stderr and `error` say why,
    and the program continues as if nothing had been requested.

    An interrupt (Ctrl-C) during start() or stop() comes through when they are done. If it makes
    start() raise, nothing is recorded.
    """

    def __init__(
        self,
        output: Union[str, "os.PathLike[str]"],
        *,
        steps: Optional[Tuple[int, int]],
        ops: bool,
        budget: float,
        shapes: bool,
        ring_bytes: int,
    ) -> None:
        self.output = os.fspath(output)
        path = _path(self.output)
        self.error: Optional[str] = None  # why nothing, or not everything, was recorded
        first, last = _window(steps)
        if ring_bytes < 0:
            raise ValueError(
                f"stepscope.record: ring_bytes={ring_bytes} must be a size in bytes, or 0 for 2 MiB"
            )
        if not 0 <= budget <= 1:
            raise ValueError(
                f"stepscope.record: budget={budget} must be a share of the run's time, from 0 to 1"
            )
        if ops not in (True, False):
            raise ValueError(f"stepscope.record: ops={ops!r} must be True, or False: phases only")
        self._options = _library.Options(path, first, last, ops, shapes, ring_bytes, budget)
        self._running = False
        self._started_in = 0  # the process
        self._undo: List[Undo] = []

    def start(self) -> None:
        """Starts the recording. Does nothing if it is already running."""
        if self._running:
            return
        try:
            with hold_interrupts():
                self._start()
        except BaseException:
            self.stop()  # the caller does not expect that it runs
            raise

    def _start(self) -> None:
        self.error = None
        library = _library.load()
        if library is None:
            self._fail(
                f"{self.output}: not recorded: libstepscope.so was not found; "
                "name it in the environment variable STEPSCOPE_LIBRARY"
            )
            return
        wrapped = _is_recorded_by_wrapper(library)
        error = library.start(ctypes.byref(self._options))
        if error is not None:
            self._fail(error.decode("utf-8", "replace"))
            return
        if wrapped:
            self._fail(
                f"{self.output}: not recorded by itself: `stepscope run` records the whole process"
            )
        self._running = True
        self._started_in = os.getpid()
        atexit.register(self._stop_at_exit)
        self._undo = _torch.mark_everything(library)

    def stop(self) -> None:
        """Ends the recording: when this returns, the store is complete and closed. A second call
        does nothing."""
        with hold_interrupts():
            if self._running:
                self._stop()

    def _stop(self) -> None:
        self._running = False
        atexit.unregister(self._stop_at_exit)
        for undo in self._undo:
            undo()
        self._undo = []
        library = _library.attached()
        error = None if library is None else library.stop()
        if error is not None:
            self._fail(error.decode("utf-8", "replace"))

    def _stop_at_exit(self) -> None:
        if self._started_in == os.getpid():  # a forked process exits too, but is not recorded
            self.stop()

    def __enter__(self) -> Recording:
        try:
            self.start()
            return self
        except BaseException:  # an interrupt after start(): Python would not call __exit__()
            self.stop()
            raise

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        try:
            self.stop()
        finally:
            self.stop()  # an interrupt may come just before the first call

    def _fail(self, error: str) -> None:
        self.error = error
        # print() writes its `end` separately; another thread's line could come in between.
        print(f"stepscope: {error}\n", end="", file=sys.stderr)


def record(
    output: Union[str, "os.PathLike[str]"] = "run.db",
    *,
    steps: Optional[Tuple[int, int]] = None,
    ops: bool = True,
    budget: float = 0.02,
    shapes: bool = False,
    ring_bytes: int = 0,
) -> Recording:
    """Records the code inside `with stepscope.record("run.db"):`, for a notebook or for a part of a
    script. Whole programs need no change: `stepscope run -o run.db -- python train.py`.

    output      the store; an earlier recording there is kept as OUTPUT.old
    steps       (first, last): records ops in these steps only, counted from 1, both included;
                phases are always recorded. None: ops in as many steps as the budget allows
    ops         False: phases only
    budget      the largest share of the run's time that recording may cost; 0: ops in every
                step, at any cost. Ignored if `steps` is given
    shapes      True: also the input shapes of each op; costs about 1 us per op
    ring_bytes  buffer per thread; 0: 2 MiB. When it is full, events are dropped and counted

    Import torch first: the recording looks for it when it begins. The result may also decorate a
    function. Raises ValueError for an `output` with a null byte and for invalid `steps`, `budget` or
    `ring_bytes`; for other errors see Recording.
    """
    return Recording(
        output, steps=steps, ops=ops, budget=budget, shapes=shapes, ring_bytes=ring_bytes
    )


def _is_recorded_by_wrapper(library: _library.Library) -> bool:
    """Whether this process belongs to a `stepscope run`. If that is gone, or the process has not
    reached it, the process can record itself."""
    # A process joins with its first event, or here.
    return bool(os.environ.get("STEPSCOPE_SOCKET") and library.torch_loaded())


def _path(output: Union[str, bytes]) -> bytes:
    path = os.fsencode(output)
    if b"\0" in path:  # to C, the path would end there
        raise ValueError(
            f"stepscope.record: output={output!r} has an embedded null byte; name another file"
        )
    return path


def _window(steps: Optional[Tuple[int, int]]) -> Tuple[int, int]:
    if steps is None:
        return 0, 0
    try:
        first, last = steps
        if 1 <= int(first) <= int(last):
            return int(first), int(last)
    except (TypeError, ValueError):
        pass
    raise ValueError(
        f"stepscope.record: steps={steps!r} must be (first, last) with 1 <= first <= last"
    )
