"""Logs the live metrics of this process into the MLflow runs and TensorBoard folders that it writes.

Only the program knows its runs and folders, so this happens in its process: a thread of its own reads
the endpoint of `stepscope run --metrics` every few seconds and logs what it finds. The training thread
only learns of a run when the program makes it, and waits for the last figures when the program ends it.

Nothing here raises into the program or prints. If a tracker does not take the figures, they are lost.

Thread safety: all functions, any thread.
"""

from __future__ import annotations

import functools
import os
import queue
import sys
import threading
import time
from typing import Any, Callable, Dict, Optional, Tuple

from . import _live_figures
from ._frames import hide_frame
from ._wrap import attribute, wrap

URL = "STEPSCOPE_METRICS_URL"  # set by `stepscope run` if it serves metrics
_INTERVAL = "STEPSCOPE_METRICS_INTERVAL"  # seconds between two updates there
_SWITCH = "STEPSCOPE_TRACKERS"  # the user's: "off"

_LAST_WAIT_S = 5.0  # how long the end of a tracker's run may wait for its last figures
_MAX_TRACKERS = 16  # trackers at a time; a program that ends none of its runs loses the first ones

_MLFLOW_CLIENT = "mlflow.tracking.client"
_MLFLOW_RUNS = "mlflow.tracking.fluent"
_TENSORBOARD = "torch.utils.tensorboard.writer"

Key = Tuple[str, str]


def is_wanted() -> bool:
    return bool(os.environ.get(URL)) and os.environ.get(_SWITCH) not in ("off", "0", "no", "false")


def follow_imported() -> None:
    """Wraps those of the trackers' modules that the program has imported."""
    client = attribute(_MLFLOW_CLIENT, "MlflowClient")
    if client is not None:
        wrap(client, "create_run", _seen(_run_was_made))
        wrap(client, "set_terminated", _run_ends)
    if attribute(_MLFLOW_RUNS, "start_run") is not None:
        wrap(sys.modules[_MLFLOW_RUNS], "start_run", _seen(_run_was_started))
    writer = attribute(_TENSORBOARD, "SummaryWriter")
    if writer is not None:
        wrap(writer, "__init__", _seen(_writer_was_made))
        wrap(writer, "close", _writer_closes)


# The functions to call if one of these modules is imported later.
LATER_IMPORTS: Dict[str, Callable[[], None]] = {
    name: follow_imported for name in (_MLFLOW_CLIENT, _MLFLOW_RUNS, _TENSORBOARD)
}


def _seen(look: Callable[..., None]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Wraps a function so that look(result, its first argument) follows a call."""

    def wrapper(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def seen(*arguments: Any, **named: Any) -> Any:
            try:
                result = function(*arguments, **named)
            except BaseException:
                hide_frame()
                raise
            try:
                look(result, arguments[0] if arguments else None)
            except Exception:
                pass
            return result

        return seen

    return wrapper


def _finish(kind: str, name: Any) -> None:
    try:
        _publisher().finish((kind, str(name)))
    except Exception:
        pass


# --- MLflow --------------------------------------------------------------------------------------


class _MlflowRun:
    def __init__(self, client: Any, run_id: str) -> None:
        self._client, self._run_id, self._verdict = client, run_id, ""

    def log(self, figures: _live_figures.Figures) -> None:
        from mlflow.entities import Metric  # type: ignore[import-not-found]

        now = int(time.time() * 1000)
        metrics = [
            Metric(f"stepscope/{name}", value, now, figures.steps)
            for name, value in figures.values.items()
        ]
        self._client.log_batch(self._run_id, metrics=metrics)
        if figures.verdict != self._verdict:
            self._client.set_tag(self._run_id, "stepscope/verdict", figures.verdict)
            self._verdict = figures.verdict

    def close(self) -> None:
        pass


def _run_was_made(run: Any, client: Any) -> None:
    run_id = run.info.run_id
    _publisher().add(("mlflow", run_id), lambda: _MlflowRun(client, run_id))


def _run_was_started(run: Any, _: Any) -> None:
    """Also one that existed before, which the program continues."""
    run_id, make_client = run.info.run_id, attribute(_MLFLOW_CLIENT, "MlflowClient")
    _publisher().add(("mlflow", run_id), lambda: _MlflowRun(make_client(), run_id))


def _run_ends(set_terminated: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(set_terminated)
    def ending(self: Any, run_id: Any, *arguments: Any, **named: Any) -> Any:
        _finish("mlflow", run_id)
        try:
            return set_terminated(self, run_id, *arguments, **named)
        except BaseException:
            hide_frame()
            raise

    return ending


# --- TensorBoard ---------------------------------------------------------------------------------


class _TensorboardFolder:
    """Below the program's own folder: of several event files in one folder, TensorBoard goes on
    reading only the last."""

    def __init__(self, folder: str) -> None:
        # What a SummaryWriter writes with; it is not wrapped.
        self._writer = sys.modules[_TENSORBOARD].FileWriter(os.path.join(folder, "stepscope"))

    def log(self, figures: _live_figures.Figures) -> None:
        from tensorboard.compat.proto.summary_pb2 import (  # type: ignore[import-not-found]
            Summary,
        )

        values = [
            Summary.Value(tag=f"stepscope/{name}", simple_value=value)
            for name, value in figures.values.items()
        ]
        self._writer.add_summary(Summary(value=values), figures.steps)
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()


def _writer_was_made(_: Any, writer: Any) -> None:
    folder = str(writer.log_dir)
    _publisher().add(("tensorboard", folder), lambda: _TensorboardFolder(folder))


def _writer_closes(close: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(close)
    def closing(self: Any, *arguments: Any, **named: Any) -> Any:
        _finish("tensorboard", getattr(self, "log_dir", ""))
        try:
            return close(self, *arguments, **named)
        except BaseException:
            hide_frame()
            raise

    return closing


# --- the thread ----------------------------------------------------------------------------------


class Publisher:
    """Reads the figures every `interval_s`, and gives each tracker those that it has not got yet.

    A tracker has log(figures), which may raise, and close(). Both are called in the thread.

    Invariant: only the thread touches _open; others send it commands.
    """

    def __init__(self, read: Callable[[], Optional[_live_figures.Figures]], interval_s: float):
        self._read, self._interval_s = read, interval_s
        self._commands: queue.Queue[Callable[[], None]] = queue.Queue()
        self._open: Dict[Key, Tuple[Any, int]] = {}  # and the steps of the figures it got last
        self._lock = threading.Lock()  # guards what follows
        self._known: Dict[Key, bool] = {}
        self._thread: Optional[threading.Thread] = None

    def add(self, key: Key, make: Callable[[], Any]) -> None:
        """`make` makes the tracker, in the thread. Does nothing if the key is known."""
        with self._lock:
            if key in self._known:
                return
            self._known[key] = True
            if len(self._known) > _MAX_TRACKERS:
                oldest = next(iter(self._known))
                del self._known[oldest]
                self._commands.put(lambda: self._close(oldest))
            self._commands.put(lambda: self._open.update({key: (make(), 0)}))
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="stepscope-trackers", daemon=True
                )
                self._thread.start()

    def finish(self, key: Key) -> None:
        """Logs what has come since, and forgets the tracker. Waits at most _LAST_WAIT_S."""
        done = threading.Event()
        with self._lock:
            if not self._known.pop(key, False):
                return

        def last() -> None:
            try:
                self._publish(key)
            finally:
                self._close(key)
                done.set()

        self._commands.put(last)
        done.wait(_LAST_WAIT_S)

    def _run(self) -> None:
        due = time.monotonic() + self._interval_s
        while True:
            command = self._publish_all
            try:
                command = self._commands.get(timeout=max(0.0, due - time.monotonic()))
            except queue.Empty:
                due = time.monotonic() + self._interval_s
            try:
                command()
            except Exception:  # the endpoint or a tracker does not answer
                pass

    def _publish_all(self) -> None:
        self._publish(*self._open)

    def _publish(self, *keys: Key) -> None:
        waiting = [key for key in keys if key in self._open]
        figures = self._read() if waiting else None
        if figures is None:
            return
        for key in waiting:
            tracker, steps = self._open[key]
            if figures.steps == steps:
                continue
            try:
                tracker.log(figures)
            except Exception:  # the next figures may get there
                continue
            self._open[key] = (tracker, figures.steps)

    def _close(self, key: Key) -> None:
        tracker, _ = self._open.pop(key, (None, 0))
        if tracker is not None:
            tracker.close()


_publishers: Dict[int, Publisher] = {}  # by process: a thread does not survive a fork


def _publisher() -> Publisher:
    pid = os.getpid()
    if pid not in _publishers:
        url, interval_s = os.environ.get(URL, ""), float(os.environ.get(_INTERVAL) or 5)
        _publishers.setdefault(pid, Publisher(lambda: _live_figures.read(url), interval_s))
    return _publishers[pid]
