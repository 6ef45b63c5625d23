"""Marks the steps of optimizers: torch.optim's, the program's own, and those of GradScaler."""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable, Iterable, List, NamedTuple, Optional, Set, Tuple

from . import _library
from ._closures import marked_closure
from ._frames import hide_frame
from ._wrap import MARKED, Undo, attribute, find_is_compiling, in_phase, wrap


def mark_optimizers(library: _library.Library) -> List[Undo]:
    """Marks each step of a torch.optim.Optimizer, including the program's own classes, as an
    optimizer step, without the closure that it calls; and each zero_grad()."""
    optimizer = attribute("torch.optim.optimizer", "Optimizer")
    if optimizer is None:
        return []
    module = sys.modules[optimizer.__module__]
    if hasattr(module, "register_optimizer_step_pre_hook"):
        steps = _hook_steps(library, module, optimizer)
    else:  # before torch 2.0
        steps = _wrap_steps(library, optimizer)
    return steps + _mark_zero_grad(library, optimizer)


def _hook_steps(library: _library.Library, module: Any, optimizer_class: Any) -> List[Undo]:
    if getattr(optimizer_class, MARKED, False):
        return []
    handles: List[Any] = []

    def remove() -> None:
        for handle in handles:
            handle.remove()

    def install(before: _BeforeStep, after: _AfterStep) -> None:
        remove()
        handles[:] = [
            module.register_optimizer_step_pre_hook(before),
            module.register_optimizer_step_post_hook(after),
        ]

    def install_traceable() -> None:
        install(*_traceable_hooks(library))

    setattr(optimizer_class, MARKED, True)
    quick = _quick_hooks(library)
    if quick is not None and _stand_in_for(quick, _trace_nothing, install_traceable):
        install(*quick)
    else:
        install_traceable()
    return [remove, lambda: delattr(optimizer_class, MARKED)]


_BeforeStep = Callable[[Any, Any, Any], Any]
_AfterStep = Callable[[Any, Any, Any], None]


def _quick_hooks(library: _library.Library) -> Optional[Tuple[_BeforeStep, _AfterStep]]:
    """Built-in functions: after a step that has filled the caches, the others take almost 2 µs longer. None:
    there are none."""
    before, after = library.before_optimizer_step, library.after_optimizer_step
    if before is None or after is None:
        return None
    library.on_closure(lambda _, arguments, named: _with_marked_closure(library, arguments, named))
    return before, after


# torch.compile traces hooks and would have to break its graph at a built-in function that it does not
# know. This function of torch._dynamo, its tracer (since torch 2.6), tells it what to trace instead.
_SUBSTITUTE = "substitute_in_graph"
_substituted: Set[Any] = set()


class _StandIn(NamedTuple):
    function: Any  # built-in
    traced: Callable[..., Any]  # in its place
    otherwise: Callable[[], None]  # called if that cannot be arranged


_waiting: List[_StandIn] = []  # for the tracer to be imported


def _stand_in_for(
    functions: Iterable[Any], traced: Callable[..., Any], otherwise: Callable[[], None]
) -> bool:
    """Makes torch.compile trace `traced` in place of each of these functions, at once or as soon as it is
    imported; calls `otherwise` if that fails later. False: there is no way."""
    stand_ins = [_StandIn(function, traced, otherwise) for function in functions]
    if "torch._dynamo" in sys.modules:
        return all(_substitute(one) for one in stand_ins)
    if not _imports_are_watched() or not hasattr(sys.modules.get("torch.compiler"), _SUBSTITUTE):
        return False
    _waiting.extend(stand_ins)
    return True


def _imports_are_watched() -> bool:
    """Whether dynamo_imported() will be called: only inject/sitecustomize.py watches imports, for the
    package that it loads under this name."""
    return __name__.startswith("_stepscope_injected.")


def _substitute(stand_in: _StandIn) -> bool:
    if stand_in.function in _substituted:
        return True
    try:
        substitute = getattr(sys.modules["torch._dynamo"], _SUBSTITUTE)
        substitute(stand_in.function, skip_signature_check=True)(stand_in.traced)
    except Exception:
        return False
    _substituted.add(stand_in.function)
    return True


def _trace_nothing(optimizer: Any, arguments: Any, named: Any) -> None:
    """In place of a hook."""


def _trace_call(function: Callable[..., Any], arguments: Any, named: Any) -> Any:
    """In place of a call in a phase."""
    return function(*arguments, **named)


def dynamo_imported() -> None:
    """Called when the tracer of torch.compile has been imported after the hooks were installed."""
    for stand_in in _waiting:
        if not _substitute(stand_in):
            stand_in.otherwise()
    _waiting.clear()


def _traceable_hooks(library: _library.Library) -> Tuple[_BeforeStep, _AfterStep]:
    """Written in Python, for torch.compile to look into."""
    is_compiling = find_is_compiling()
    begin_step, end_step = library.begin_optimizer_step, library.end_optimizer_step

    # torch.compile traces hooks and would have to break its graph at a foreign function.
    def before(optimizer: Any, arguments: Any, named: Any) -> Any:
        if is_compiling():
            return None
        begin_step(optimizer, type(optimizer).__name__)
        if named or len(arguments) > 1:
            return _with_marked_closure(library, arguments, named)
        return None

    def after(optimizer: Any, arguments: Any, named: Any) -> None:
        if not is_compiling():
            end_step(optimizer)

    return before, after


def _wrap_steps(library: _library.Library, optimizer_class: Any) -> List[Undo]:
    """torch 1.13 has no hooks, so step() is wrapped in each class in which PyTorch has wrapped it,
    or wraps it later, when the first object of the class is created."""

    def marked(step: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(step)
        def phase(*arguments: Any, **named: Any) -> Any:
            begun = _begin_step(library, arguments[0])
            try:
                closure = _with_marked_closure(library, arguments, named)
                arguments, named = closure or (arguments, named)
                return step(*arguments, **named)
            except BaseException:
                hide_frame()
                raise
            finally:
                library.end_optimizer(begun)

        return phase

    undo: List[Undo] = []

    def marking(wrap_for_profile: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(wrap_for_profile)
        def wrapping(self: Any) -> None:
            wrap_for_profile(self)
            undo.extend(wrap(type(self), "step", marked))

        return wrapping

    for known in _with_subclasses(optimizer_class):
        if "step" in vars(known) and getattr(known.step, "hooked", False):
            undo.extend(wrap(known, "step", marked))
    undo.extend(wrap(optimizer_class, "_hook_for_profile", marking))

    def undo_all() -> None:
        for one in undo:
            one()

    return [undo_all] if undo else []


def _begin_step(library: _library.Library, optimizer: Any) -> _library.Phase:
    return library.begin_optimizer(type(optimizer).__name__.encode("utf-8", "replace"))


def _with_marked_closure(
    library: _library.Library, arguments: Any, named: Any
) -> Optional[Tuple[Any, Any]]:
    """The arguments of step(self, closure) with a closure whose calls are marked. None:
    unchanged."""
    positional = len(arguments) > 1
    marked = marked_closure(library, arguments[1] if positional else named.get("closure"))
    if marked is None:
        return None
    if positional:
        return (arguments[0], marked, *arguments[2:]), named
    return arguments, {**named, "closure": marked}


def mark_scalers(library: _library.Library) -> List[Undo]:
    """Marks the steps of a GradScaler. It skips the step of its optimizer if a gradient overflowed,
    but the loop's step still counts."""

    def marked(step: Callable[..., Any]) -> Callable[..., Any]:
        return in_phase(step, library.begin_optimizer, library.end_optimizer, b"GradScaler")

    undo: List[Undo] = []
    for module in (
        "torch.amp.grad_scaler",
        "torch.cuda.amp.grad_scaler",
    ):  # since torch 2.3; before
        scaler = attribute(module, "GradScaler")
        if scaler is not None and "step" in vars(scaler):
            undo += wrap(scaler, "step", marked)
    return undo


def _mark_zero_grad(library: _library.Library, optimizer_class: Any) -> List[Undo]:
    in_zero_grad = library.in_zero_grad
    is_compiling: Optional[Callable[[], bool]] = None  # a stand-in is traced, so nobody asks

    def ask() -> None:
        nonlocal is_compiling
        is_compiling = find_is_compiling()

    built_in = library.before_optimizer_step is not None
    if not built_in or not _stand_in_for([in_zero_grad], _trace_call, ask):
        ask()

    def marked(zero_grad: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(zero_grad)
        def phase(*arguments: Any, **named: Any) -> Any:
            if is_compiling is not None and is_compiling():
                return zero_grad(*arguments, **named)
            try:
                return in_zero_grad(zero_grad, arguments, named)
            except BaseException:
                hide_frame()
                raise

        return phase

    return wrap(optimizer_class, "zero_grad", marked)


def _with_subclasses(root: Any) -> List[Any]:
    return [root] + [cls for child in root.__subclasses__() for cls in _with_subclasses(child)]
