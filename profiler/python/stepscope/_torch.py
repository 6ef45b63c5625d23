"""Marks the parts of a training loop that the op hooks cannot see. Works with torch 1.13 to 2.15.

PyTorch itself opens ranges inside a loader's `__next__` and an optimizer's step, which the op hooks
can watch for. These marks replace them for three reasons. With any callback, libtorch does more work
at each node of a backward pass: 3 % more instructions on a loop of small ops. The range of an
optimizer does not show the closure that it calls, nor a GradScaler that may skip the step. The range
of a loader omits the beginning and end of `__next__`. With workers, the end is long: it releases the
GIL, the thread that feeds the workers takes it, and the program waits about 100 µs longer in every
third batch.

Nothing here raises into the program, or changes what a call returns or raises.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from typing import Any, Callable, Dict, List

from . import _library, _trackers
from ._groups import mark_groups
from ._modules import mark_modules
from ._optimizers import dynamo_imported, mark_optimizers, mark_scalers
from ._frames import hide_frame
from ._wrap import Undo, attribute, find_is_compiling, in_phase, wrap


def torch_imported() -> None:
    """Called when torch has just been imported into a program that `stepscope run` wraps. Backward
    passes need no marks there: the library was in the process first and interposes libtorch's
    symbols."""
    library = _library.attached()
    if library is not None and library.torch_loaded():
        _mark_torch(library)
    if _trackers.is_wanted():
        LATER_IMPORTS.update(_trackers.LATER_IMPORTS)
        _trackers.follow_imported()


def mark_everything(library: _library.Library) -> List[Undo]:
    """Adds the marks for a recording that begins in the middle of a program. Returns how to undo
    them."""
    if "torch" not in sys.modules:
        return []
    library.torch_loaded()
    wrapped = os.environ.get("STEPSCOPE_SOCKET")
    return _mark_torch(library) + ([] if wrapped else mark_backward(library))


def _mark_torch(library: _library.Library) -> List[Undo]:
    loaders, optimizers = mark_loaders(library), mark_optimizers(library)
    undo = loaders + optimizers
    if loaders and optimizers:  # all that PyTorch opens ranges around
        library.marks_python_ranges(1)
        undo.append(lambda: library.marks_python_ranges(0))
    undo += mark_scalers(library) + mark_pauses(library) + mark_runtimes(library)
    return undo + mark_groups(library) + mark_modules(library)


# --- loaders -------------------------------------------------------------------------------------


def mark_loaders(library: _library.Library) -> List[Undo]:
    """Marks each wait of a DataLoader's iterator as a wait for input."""
    iterator = attribute("torch.utils.data.dataloader", "_BaseDataLoaderIter")
    if iterator is None:
        return []

    # Does the same as _marks.wait(), but without its extra calls: time before begin() and after
    # end() is time that the program waits and that is not counted.
    with_workers = attribute(iterator.__module__, "_MultiProcessingDataLoaderIter") or ()
    begin, end_batch, end_epoch = library.begin_input, library.end_input, library.end_of_input
    comes_from = library.batch_comes_from

    def marked(fetch: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(fetch)
        def __next__(self: Any) -> Any:
            try:
                label = self._stepscope_label
            except AttributeError:
                label = self._stepscope_label = _loader_label(self, with_workers)
                self._stepscope_workers = isinstance(self, with_workers)
            if self._stepscope_workers:
                worker = _awaited_worker(self)
                if worker:
                    comes_from(worker)
            phase, end = begin(label), end_batch
            try:
                return fetch(self)
            except StopIteration:
                end = end_epoch
                hide_frame()
                raise
            except BaseException:
                hide_frame()
                raise
            finally:
                end(phase)

        return __next__

    return wrap(iterator, "__next__", marked)


def _awaited_worker(iterator: Any) -> int:
    """The process that makes the next batch of `iterator`; 0: the batch has already come, or has
    not been requested yet. With in_order=False any batch may come next; this takes the one
    requested first."""
    try:
        tasks = iterator._task_info
        task = tasks.get(iterator._rcvd_idx)
        if task is None and not getattr(iterator, "_in_order", True):
            task = next(iter(tasks.values()))
        # (worker,) or, once the batch has come, (worker, batch).
        return iterator._workers[task[0]].pid if len(task) == 1 else 0
    except Exception:
        return 0


# accelerate's wrappers lie between the Trainer and the loader's iterator.
_FRAMES_TO_TRAINER = 16


def _loader_label(iterator: Any, with_workers: Any) -> bytes:
    """The loader's name, which the advice parses: "DataLoader(batch_size=8, num_workers=2)", with
    the arguments that differ from PyTorch's defaults; for the Trainer "Trainer: DataLoader(…)".
    Reads only plain attributes: a property could run the program's own code."""
    options: List[str] = []
    try:
        seen = vars(iterator)
        batches = vars(seen.get("_index_sampler"))
        workers = seen.get("_num_workers")
        if isinstance(batches.get("batch_size"), int):
            options.append(f"batch_size={batches['batch_size']}")
        if type(batches.get("sampler")).__name__ == "RandomSampler":
            options.append("shuffle=True")
        if isinstance(workers, int) and workers > 0:
            options.append(f"num_workers={workers}")
            if isinstance(seen.get("_prefetch_factor"), int) and seen["_prefetch_factor"] != 2:
                options.append(f"prefetch_factor={seen['_prefetch_factor']}")
        options += [
            f"{name}=True"
            for name in ("persistent_workers", "pin_memory")
            if seen.get("_" + name) is True
        ]
    except Exception:
        pass
    if options:
        owner = "Trainer: " if _is_of_trainer() else ""
        return f"{owner}DataLoader({', '.join(options)})".encode()
    return b"DataLoader, workers" if isinstance(iterator, with_workers) else b"DataLoader"


def _is_of_trainer() -> bool:
    """Whether Hugging Face's Trainer waits. Then its arguments configure the loader, and the advice
    names those."""
    trainer = "transformers.trainer"
    frame = sys._getframe(1) if trainer in sys.modules else None
    for _ in range(_FRAMES_TO_TRAINER):
        if frame is None:
            break
        if frame.f_globals.get("__name__") == trainer:
            return True
        frame = frame.f_back
    return False


# --- backward ------------------------------------------------------------------------------------


def mark_backward(library: _library.Library) -> List[Undo]:
    """Marks each call of torch.autograd.backward(), which Tensor.backward() calls, as a backward
    pass."""
    autograd = sys.modules.get("torch.autograd")

    def marked(backward: Callable[..., Any]) -> Callable[..., Any]:
        return in_phase(backward, library.begin_backward, library.end_backward)

    return wrap(autograd, "backward", marked) if autograd is not None else []


# --- pauses --------------------------------------------------------------------------------------


def mark_pauses(library: _library.Library) -> List[Undo]:
    """Marks what a training loop does between its steps: a model's change to evaluation mode and
    back, and the saving of tensors."""
    return _mark_modes(library) + _mark_saves(library)


class _Depth(threading.local):
    value = 0


def _mark_modes(library: _library.Library) -> List[Undo]:
    """Marks each change of a model's mode by eval() or train() as an instant. Both call themselves
    for each submodule, and trainers call them before each step: only the outermost call counts, and
    only if the mode changes."""
    module = attribute("torch.nn.modules.module", "Module")
    if module is None:
        return []
    depth = _Depth()
    is_compiling = find_is_compiling()

    def marked(train: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(train)
        def mode(self: Any, *arguments: Any, **named: Any) -> Any:
            if is_compiling() or depth.value:
                return train(self, *arguments, **named)
            before = _mode_of(self)
            depth.value = 1
            try:
                return train(self, *arguments, **named)
            except BaseException:
                hide_frame()
                raise
            finally:
                depth.value = 0
                after = _mode_of(self)
                if after is not before:
                    mark = b"train()" if after is True else b"eval()"
                    library.end_scope(library.begin_scope(mark))

        return mode

    return wrap(module, "train", marked)


def _mode_of(module: Any) -> Any:
    """None: unknown. Reads only the module's `__dict__`: a property would run the program's own
    code. A compiled module has such a property, which returns the mode of its only submodule."""
    try:
        own = object.__getattribute__(module, "__dict__")
        if "training" in own:
            return own["training"]
        submodules = own.get("_modules")
        # A TorchScript module has neither, and keeps its submodules in a class of its own.
        if issubclass(type(submodules), dict):
            return _mode_of(next(iter(dict.values(submodules))))
    except Exception:
        pass
    return None


def _mark_saves(library: _library.Library) -> List[Undo]:
    def marked(save: Callable[..., Any]) -> Callable[..., Any]:
        return in_phase(save, library.begin_scope, library.end_scope, b"torch.save")

    functions = [
        ("torch", "save"),
        ("torch.serialization", "save"),
        ("safetensors.torch", "save_file"),
        ("safetensors.torch", "save_model"),
    ]
    return [
        undo
        for module, name in functions
        if module in sys.modules
        for undo in wrap(sys.modules[module], name, marked)
    ]


def _safetensors_imported() -> None:
    library = _library.attached()
    if library is not None and library.torch_loaded():
        _mark_saves(library)


# --- other runtimes ------------------------------------------------------------------------------

_ONNX_RUNTIME = "onnxruntime.capi.onnxruntime_inference_collection"


def mark_runtimes(library: _library.Library) -> List[Undo]:
    """Marks each call of an ONNX Runtime session as a scope, because its work has no PyTorch
    ops."""

    def marked(run: Callable[..., Any]) -> Callable[..., Any]:
        return in_phase(run, library.begin_scope, library.end_scope, b"onnxruntime::run")

    session = attribute(_ONNX_RUNTIME, "Session")
    if session is None:
        return []
    functions = ("run", "run_with_ort_values", "run_with_iobinding")
    return [undo for name in functions for undo in wrap(session, name, marked)]


def _onnxruntime_imported() -> None:
    library = _library.attached()
    if library is not None and library.torch_loaded():
        mark_runtimes(library)


# The functions to call if one of these modules is imported after torch.
LATER_IMPORTS: Dict[str, Callable[[], None]] = {
    "safetensors.torch": _safetensors_imported,
    _ONNX_RUNTIME: _onnxruntime_imported,
    "torch._dynamo": dynamo_imported,
}
