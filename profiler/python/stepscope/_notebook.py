"""`%load_ext stepscope`: records a notebook cell and shows what bounds it.

    %%stepscope                     record the cell, then show a card with the verdict
    %stepscope run.db               show the card of a recording

The cell runs as it would without its first line: its output, its definitions and its exceptions are
the same.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import threading
import tokenize
from types import FrameType, TracebackType
from typing import Any, Awaitable, List, NoReturn, Optional, Tuple, cast

from IPython import get_ipython
from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.display import display

from . import _card, _library
from ._interrupts import hold_interrupts
from ._recording import Recording, record

_PROGRAM_SECONDS = 600
_CELL_CALL = "get_ipython().run_cell_magic('stepscope',"
_NO_CODE = (tokenize.ENDMARKER, tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT)


class _Parser(argparse.ArgumentParser):
    """Raises UsageError, which IPython shows in one line, instead of ending the kernel."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog}: {message}")

    def exit(self, status: int = 0, message: Optional[str] = None) -> NoReturn:
        raise UsageError((message or "").strip())


def _arguments(line: str, is_cell: bool) -> argparse.Namespace:
    parser = _Parser(prog="%%stepscope" if is_cell else "%stepscope", add_help=False)
    if is_cell:
        parser.add_argument("-o", "--output", metavar="RUN.db")
        parser.add_argument("--ops", choices=("auto", "all", "never"), default="auto")
    else:
        parser.add_argument("output", metavar="RUN.db")
    parser.add_argument("--no-report", action="store_true")
    try:
        return parser.parse_args(shlex.split(line))
    except ValueError as error:  # an unclosed quotation
        parser.error(str(error))


def _run(*arguments: str) -> str:
    """Returns the output of the `stepscope` program. If it fails, raises UsageError with its one
    line."""
    program = _library.program()
    if program is None:
        raise UsageError(
            "stepscope: the program `stepscope` was not found beside this package or on PATH"
        )
    try:
        done = subprocess.run(
            [program, *arguments], capture_output=True, text=True, timeout=_PROGRAM_SECONDS
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise UsageError(f"stepscope: {error}") from None
    if done.returncode != 0:
        raise UsageError(done.stderr.strip() or f"stepscope: exit code {done.returncode}")
    return done.stdout


def _own_frames(error: BaseException) -> Optional[TracebackType]:
    """The part of the traceback that begins with the cell, without IPython's frames."""
    traceback = error.__traceback__
    while traceback is not None:
        if "/IPython/" not in traceback.tb_frame.f_code.co_filename:
            return traceback
        traceback = traceback.tb_next
    return error.__traceback__


class _Card:
    """A card for the front end to show: HTML, or plain text."""

    def __init__(self, store: str, with_report: bool) -> None:
        document = json.loads(_run("analyze", store, "--json"))
        page = None
        if with_report:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "report.html")
                _run("report", store, "-o", path)
                page = pathlib.Path(path).read_text(encoding="utf-8")
        self._text = _card.card_text(document)
        self._html = _card.card_html(document, store, page)

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return self._html


def _is_in_recorded_cell(frame: Optional[FrameType]) -> bool:
    while frame is not None and frame.f_globals is not globals():
        frame = frame.f_back
    return frame is not None


def _ends_in_semicolon(source: str) -> bool:
    """Whether Python code that compiles ends in `;`, as a request not to show its value."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    last = [token.string for token in tokens if token.type not in _NO_CODE][-1:]
    return last == [";"]


def _transformed(shell: Any, cell: str) -> Optional[str]:
    """The cell as Python code, without IPython's syntax; None if it has errors."""
    try:
        return cast(str, shell.transform_cell(cell))
    except Exception:  # it is shown when the cell runs
        return None


# --- cells with a top-level await ----------------------------------------------------------------


def _awaits(shell: Any, cell: str) -> bool:
    source = _transformed(shell, cell)
    return source is not None and shell.should_run_async(cell, transformed_cell=source)


def _await_cells(lines: List[str]) -> List[str]:
    """A transformer of IPython's input. A magic is an ordinary call, and the notebook's event loop
    already runs, so a magic cannot run a cell with a top-level `await` to its end. For such a cell
    the magic returns a coroutine; this puts an `await` before the call."""
    shell = get_ipython()
    if shell is None or len(lines) != 1 or not lines[0].startswith(_CELL_CALL):
        return lines
    try:
        (call,) = ast.parse(lines[0]).body
        cell = ast.literal_eval(call.value.args[2])  # type: ignore[attr-defined]
    except (SyntaxError, ValueError, AttributeError, IndexError):  # somebody wrote a call by hand
        return lines
    return ["await " + lines[0]] if _awaits(shell, cell) else lines


async def _run_cell_async(shell: Any, cell: str) -> Any:
    """shell.run_cell() for a running event loop, with the same events: figures are shown by one."""
    result = None
    try:
        source = _transformed(shell, cell)
        result = await shell.run_cell_async(cell, store_history=False, transformed_cell=source)
    finally:
        shell.events.trigger("post_execute")
        shell.events.trigger("post_run_cell", result)
    return result


# --- the magics ----------------------------------------------------------------------------------


class _Run:
    """One run of a recorded cell. From begin() to end() the shell shows no exception, because the
    magic raises it, and shows the cell's value as it would without the magic."""

    def __init__(self, shell: Any, source: str, recording: Recording) -> None:
        self.recording = recording
        self.thread = threading.get_ident()
        self._shell = shell
        self._source = source
        self._replaced: List[Tuple[Any, str, Any]] = []

    def begin(self) -> None:
        with hold_interrupts():
            self._replace(self._shell, "showtraceback", lambda *a, **k: None)
            self._replace(self._shell, "showsyntaxerror", lambda *a, **k: None)
            # IPython looks at the end of the whole cell, which is now the call of the magic.
            self._replace(
                self._shell.displayhook, "quiet", lambda: _ends_in_semicolon(self._source)
            )
            self.recording.start()

    def end(self) -> None:
        """Undoes begin(), also one that was interrupted. A second call does nothing."""
        with hold_interrupts():
            while self._replaced:
                setattr(*self._replaced.pop())
            self.recording.stop()

    def _replace(self, owner: Any, name: str, value: Any) -> None:
        self._replaced.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)


@magics_class
class StepscopeMagics(Magics):
    """The magics. Owns the folder of unnamed recordings, which is deleted when the kernel ends."""

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self._folder: Optional[tempfile.TemporaryDirectory[str]] = None
        self._recordings = 0
        self._runs: List[_Run] = []  # the cell that runs, and the cells that it runs

    @line_cell_magic("stepscope")
    def stepscope(self, line: str, cell: Optional[str] = None) -> Optional[Awaitable[None]]:
        """%%stepscope [-o RUN.db] [--ops auto|all|never] [--no-report]: record the cell and show
        what bounds it.
        %stepscope RUN.db [--no-report]: show the card of a recording.
        """
        __tracebackhide__ = True  # IPython leaves this frame out of the cell's traceback
        arguments = _arguments(line, cell is not None)
        if cell is None:
            display(_Card(arguments.output, not arguments.no_report))
            return None
        if not _is_in_recorded_cell(sys._getframe(1)):
            self._end_left_runs()
        store = arguments.output or self._next_store()
        if _awaits(self.shell, cell):
            return self._record_async(cell, store, arguments)
        run = self._new_run(cell, store, arguments)
        try:
            run.begin()
            result = self.shell.run_cell(cell, store_history=False)
            run.end()
        finally:
            self._end(run)  # an interrupt may come just before the first call
        self._finish(run, result, arguments)
        return None

    async def _record_async(self, cell: str, store: str, arguments: argparse.Namespace) -> None:
        """The same for a cell with a top-level `await`. _await_cells() has put an `await` before
        the call of the magic."""
        __tracebackhide__ = True
        run = self._new_run(cell, store, arguments)
        try:
            run.begin()
            result = await _run_cell_async(self.shell, cell)
            run.end()
        finally:
            self._end(run)
        self._finish(run, result, arguments)

    def _next_store(self) -> str:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="stepscope-")
        self._recordings += 1
        return os.path.join(self._folder.name, f"cell-{self._recordings}.db")

    def _new_run(self, cell: str, store: str, arguments: argparse.Namespace) -> _Run:
        ops = arguments.ops
        recording = record(store, ops=ops != "never", budget=0.02 if ops == "auto" else 0)
        run = _Run(self.shell, _transformed(self.shell, cell) or cell, recording)
        self._runs.append(run)
        return run

    def _end(self, run: _Run) -> None:
        run.end()
        if run in self._runs:
            self._runs.remove(run)

    def _end_left_runs(self) -> None:
        """Ends what a cell of this thread left running because interrupts came in quick
        succession."""
        for run in self._runs[::-1]:
            if run.thread == threading.get_ident():
                self._end(run)

    def _finish(self, run: _Run, result: Any, arguments: argparse.Namespace) -> None:
        """Shows the card, and raises what the cell raised."""
        __tracebackhide__ = True
        if run.recording.error is None:
            self._show(run.recording.output, not arguments.no_report)
        raised = result.error_before_exec or result.error_in_exec
        if raised is not None:
            raise raised.with_traceback(_own_frames(raised))

    def _show(self, store: str, with_report: bool) -> None:
        """Shows the card. If it cannot be made, the cell still succeeds."""
        try:
            display(_Card(store, with_report))
        except UsageError as error:
            print(error, file=sys.stderr)


def load(shell: Any) -> None:
    """Registers the magics with IPython's `shell`."""
    shell.register_magics(StepscopeMagics)
    if _await_cells not in shell.input_transformers_post:
        shell.input_transformers_post.append(_await_cells)
