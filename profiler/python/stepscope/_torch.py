"""Marks a Python training loop from Python, where the op hooks cannot. Known to fit torch 1.13 to 2.13.

PyTorch itself opens ranges inside a loader's `__next__` and an optimizer's step, which the op hooks see. Of an
optimizer they are enough. A loader's leaves out how it begins and ends, and with workers the end is long: the GIL is
given up there, the thread that feeds the workers takes it, and the program waits some 100 µs more in every third
batch.

Nothing here raises into the program, or changes what a call returns or raises.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from typing import Any, Callable, List, Tuple

from . import _library

RECORDING, USER_SCOPES = 1, 2  # what stepscope_torch_loaded() says
Undo = Callable[[], Any]

_MARKED = (
    "_stepscope_marked"  # an attribute of what is wrapped already, by whichever copy of this module
)


def torch_imported() -> None:
    """torch has just been imported into a program that `stepscope run` wraps. Backward passes are
    seen by symbol name there: the library was in the process first."""
    library = _library.attached()
    if library is None:
        return
    loaded = library.torch_loaded()
    if loaded & RECORDING:
        mark_loaders(library)
        if not loaded & USER_SCOPES:
            mark_optimizers(library)


def mark_everything(library: _library.Library) -> List[Undo]:
    """What a recording needs that began in the middle of a program, and how to take it back."""
    if "torch" not in sys.modules:
        return []
    wrapped = os.environ.get("STEPSCOPE_SOCKET")
    undo = mark_loaders(library) + ([] if wrapped else mark_backward(library))
    if not library.torch_loaded() & USER_SCOPES:
        undo += mark_optimizers(library)
    return undo


# --- loaders -------------------------------------------------------------------------------------


def mark_loaders(library: _library.Library) -> List[Undo]:
    """Each wait of a DataLoader's iterator is a wait for input."""
    iterator = _attribute("torch.utils.data.dataloader", "_BaseDataLoaderIter")
    if iterator is None:
        return []

    # What _marks.wait() does, without its frames: what comes before begin() and after end() is time that the program
    # waits and nobody counts.
    with_workers = _attribute(iterator.__module__, "_MultiProcessingDataLoaderIter") or ()
    begin, end_batch, end_epoch = library.begin_input, library.end_input, library.end_of_input

    def marked(fetch: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(fetch)
        def __next__(self: Any) -> Any:
            label = b"DataLoader, workers" if isinstance(self, with_workers) else b"DataLoader"
            phase, end = begin(label), end_batch
            try:
                return fetch(self)
            except StopIteration:
                end = end_epoch
                raise
            finally:
                end(phase)

        return __next__

    return _wrap(iterator, "__next__", marked)


# --- backward ------------------------------------------------------------------------------------


def mark_backward(library: _library.Library) -> List[Undo]:
    """Each call of torch.autograd.backward(), which Tensor.backward() is one of, is a backward pass."""
    autograd = sys.modules.get("torch.autograd")

    def marked(backward: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(backward)
        def phase(*arguments: Any, **named: Any) -> Any:
            begun = library.begin_backward(b"")
            try:
                return backward(*arguments, **named)
            finally:
                library.end_backward(begun)

        return phase

    return _wrap(autograd, "backward", marked) if autograd is not None else []


# --- optimizers ----------------------------------------------------------------------------------


def mark_optimizers(library: _library.Library) -> List[Undo]:
    """Each step of a torch.optim.Optimizer, the program's own classes included, is an optimizer step."""
    optimizer = _attribute("torch.optim.optimizer", "Optimizer")
    if optimizer is None:
        return []
    module = sys.modules[optimizer.__module__]
    if hasattr(module, "register_optimizer_step_pre_hook"):  # torch 2.0 and later
        return _hook_steps(library, module, optimizer)
    return _wrap_steps(library, optimizer)


class _OpenSteps(threading.local):
    """The optimizer steps that a thread has begun and not ended, the innermost last."""

    def __init__(self) -> None:
        self.begun: List[Tuple[int, _library.Phase]] = []


def _hook_steps(library: _library.Library, module: Any, optimizer_class: Any) -> List[Undo]:
    if getattr(optimizer_class, _MARKED, False):
        return []
    open_steps = _OpenSteps()
    is_compiling = _is_compiling()

    def end_abandoned(optimizer: Any) -> None:
        # An earlier step of it raised: no hook told us its end. What was open is no optimizer step.
        while any(begun == id(optimizer) for begun, _ in open_steps.begun):
            library.end_scope(open_steps.begun.pop()[1])

    # torch.compile looks into hooks, and would have to cut its graph at a foreign function.
    def before(optimizer: Any, arguments: Any, named: Any) -> None:
        if not is_compiling():
            end_abandoned(optimizer)
            phase = _begin_step(library, optimizer)
            open_steps.begun.append((id(optimizer), phase))

    def after(optimizer: Any, arguments: Any, named: Any) -> None:
        if not is_compiling():
            while any(begun == id(optimizer) for begun, _ in open_steps.begun):
                begun, phase = open_steps.begun.pop()
                end = library.end_optimizer if begun == id(optimizer) else library.end_scope
                end(phase)

    setattr(optimizer_class, _MARKED, True)
    hooks = [
        module.register_optimizer_step_pre_hook(before),
        module.register_optimizer_step_post_hook(after),
    ]
    return [hook.remove for hook in hooks] + [lambda: delattr(optimizer_class, _MARKED)]


def _begin_step(library: _library.Library, optimizer: Any) -> _library.Phase:
    return library.begin_optimizer(type(optimizer).__name__.encode("utf-8", "replace"))


def _is_compiling() -> Callable[[], bool]:
    compiler = sys.modules.get("torch.compiler")
    for name in ("is_dynamo_compiling", "is_compiling"):
        if hasattr(compiler, name):
            return getattr(compiler, name)
    return lambda: False


def _wrap_steps(library: _library.Library, optimizer_class: Any) -> List[Undo]:
    """torch 1.13 has no hooks. Each class with a step() of its own gets it wrapped: those that there
    are, and new ones when their first object is made, which is when PyTorch wraps it too."""

    def marked(step: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(step)
        def phase(self: Any, *arguments: Any, **named: Any) -> Any:
            begun = _begin_step(library, self)
            try:
                return step(self, *arguments, **named)
            finally:
                library.end_optimizer(begun)

        return phase

    undo: List[Undo] = []

    def marking(wrap_for_profile: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(wrap_for_profile)
        def wrapping(self: Any) -> None:
            wrap_for_profile(self)
            undo.extend(_wrap(type(self), "step", marked))

        return wrapping

    for known in _with_subclasses(optimizer_class):
        if known is not optimizer_class and "step" in vars(known):
            undo.extend(_wrap(known, "step", marked))
    undo.extend(_wrap(optimizer_class, "_hook_for_profile", marking))
    return undo


def _with_subclasses(root: Any) -> List[Any]:
    return [root] + [cls for child in root.__subclasses__() for cls in _with_subclasses(child)]


# --- wrapping ------------------------------------------------------------------------------------


def _attribute(module: str, name: str) -> Any:
    return getattr(sys.modules.get(module), name, None)


def _wrap(
    owner: Any, name: str, wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> List[Undo]:
    """Replaces a function of a class or module by wrapper(function), unless it is one already."""
    original = getattr(owner, name, None)
    if original is None or getattr(original, _MARKED, False):
        return []
    inherited = name not in vars(owner)
    wrapped = wrapper(original)
    setattr(wrapped, _MARKED, True)
    setattr(owner, name, wrapped)

    def unwrap() -> None:
        if (
            vars(owner).get(name) is not wrapped
        ):  # somebody wrapped it again: ours stays below theirs
            return
        if inherited:
            delattr(owner, name)
        else:
            setattr(owner, name, original)

    return [unwrap]
