"""Records calls of modules, in steps whose ops are recorded, to show which layers take the time.

PyTorch's global hooks see each call of an `nn.Module`, and make each call about 2 µs longer. So
they are installed only while ops are recorded. libstepscope says when that begins; the first call
after its end removes them.

Nothing here raises into the program, or changes a module's arguments or result. In a program that
compiles anything with `torch.compile`, no modules are recorded: a compiled graph has none, and the
hooks would be compiled into it.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import weakref
from typing import Any, Callable, Dict, List, Set, Tuple

from . import _library
from ._frames import hide_frame
from ._wrap import Undo, find_is_compiling, wrap

_UNNAMED = 8  # how often a tree is searched again for modules that it did not have


class _Tree:
    """The names of the modules within a root: a module that was called outside of any other."""

    def __init__(self, root: Any, title: str) -> None:
        self.title = title
        self._root = weakref.ref(root)
        self._searches = 0
        self._strangers: Set[Tuple[str, str]] = set()
        # By id. When a module dies, its name is removed, because another may get its id.
        self.labels: Dict[int, Tuple[bytes, Any]] = {}
        self._name_all()

    def _name_all(self) -> None:
        self._searches += 1
        root = self._root()
        for name, module in root.named_modules() if root is not None else ():
            self._name(module, name)

    def _name(self, module: Any, name: str) -> bytes:
        label = f"{self.title}\n{name}\n{type(module).__name__}".encode("utf-8", "replace")
        key, labels = id(module), self.labels
        labels[key] = (label, weakref.ref(module, lambda _: labels.pop(key, None)))
        return label

    def label_of(self, module: Any, caller: int) -> bytes:
        """The label of a module that was not found when the tree was searched. `caller`: the id of
        the module that called it."""
        if self._searches < _UNNAMED:
            self._name_all()
            known = self.labels.get(id(module))
            if known is not None:
                return known[0]
        # Created for this one call, as in nn.ReLU()(x): named after its caller.
        around = self.labels.get(caller)
        inside = around[0].decode().split("\n")[1] if around is not None else ""
        kind = f"({type(module).__name__})"
        return self._name(module, f"{inside}.{kind}" if inside else kind)


class _Trees:
    """The trees of a process."""

    def __init__(self) -> None:
        self._trees: Dict[int, Tuple[_Tree, Any]] = {}  # by id of the root

    def around(self, module: Any) -> _Tree:
        """The tree of a module that no other module calls: an existing tree that contains it, or
        its own."""
        key = id(module)
        known = self._trees.get(key)
        if known is not None:
            return known[0]
        for tree, _ in list(self._trees.values()):
            if key in tree.labels:
                return tree
        tree = _Tree(module, self._title(module))
        trees = self._trees
        # Modules that were called alone before are part of this tree from now on.
        for other in [other for other in trees if other in tree.labels]:
            trees.pop(other, None)
        trees[key] = (tree, weakref.ref(module, lambda _: trees.pop(key, None)))
        return tree

    def _title(self, module: Any) -> str:
        name = type(module).__name__
        # The copies that DataParallel makes for each step are all the same model.
        if getattr(module, "_is_replica", False):
            return name
        taken = {tree.title for tree, _ in list(self._trees.values())}
        number = 1
        title = name
        while title in taken:
            number += 1
            title = f"{name} {number}"
        return title


class _Calls(threading.local):
    """The calls that a thread has begun and not ended: the id of each module, and the result of
    begin_module()."""

    def __init__(self) -> None:
        self.open: List[Tuple[int, int]] = []
        self.tree: Any = None


class ModuleHooks:
    """Installs and removes the global hooks."""

    def __init__(self, library: Any, module: Any, is_off: Callable[[], bool]) -> None:
        self._library, self._module, self._is_off = library, module, is_off
        self._handles: List[Any] = []
        self._trees = _Trees()

    def follow(self, records: int) -> None:
        """Called when the recording of ops has begun (1) or ended (0)."""
        try:
            if not records or self._is_off():
                self.remove()
            elif not self._handles:
                self._install()
        except Exception:
            pass

    def remove(self) -> None:
        while self._handles:
            self._handles.pop().remove()

    def _install(self) -> None:
        before, after = self._hooks()
        register = self._module.register_module_forward_hook
        try:
            hook = register(after, always_call=True)
        except TypeError:  # torch 2.0
            hook = register(after)
        self._handles = [self._module.register_module_forward_pre_hook(before), hook]

    # Each pair of hooks has its own open calls: calls whose end an earlier pair did not see are
    # forgotten.
    def _hooks(self) -> Tuple[Callable[..., None], Callable[..., None]]:
        calls, trees, remove = _Calls(), self._trees, self.remove
        begin, end = self._library.begin_module, self._library.end_module
        is_compiling, is_off = find_is_compiling(), self._is_off

        def before(module: Any, arguments: Any) -> None:
            if is_compiling():
                return
            try:
                opened = calls.open
                if not opened:
                    if is_off():
                        return remove()
                    calls.tree = trees.around(module)
                known = calls.tree.labels.get(id(module))
                label = (
                    known[0]
                    if known is not None
                    else calls.tree.label_of(module, opened[-1][0] if opened else 0)
                )
                depth = begin(label)
                if depth is None:  # ops are no longer recorded
                    return remove()
                opened.append((id(module), depth))
            except Exception:
                pass

        def after(module: Any, arguments: Any, result: Any) -> None:
            if is_compiling():
                return
            opened = calls.open
            key = id(module)
            if opened and opened[-1][0] == key:
                end(opened.pop()[1])
                return
            # Calls inside it were left by a BaseException that is not an Exception.
            if any(entry[0] == key for entry in opened):
                while opened[-1][0] != key:
                    opened.pop()
                end(opened.pop()[1])

        return before, after


def mark_modules(library: _library.Library) -> List[Undo]:
    """Records modules from now on, whenever ops are recorded, if requested and if PyTorch has
    global hooks (since 2.0)."""
    if os.environ.get("STEPSCOPE_MODULES") != "1":  # set by `stepscope run --modules`
        return []
    module = sys.modules.get("torch.nn.modules.module")
    watch = getattr(library, "watch_ops", None)
    if watch is None or not hasattr(module, "register_module_forward_pre_hook"):
        return []
    if not hasattr(sys.modules.get("torch"), "compile"):  # before torch 2.0
        return []
    when_begun: List[Undo] = []
    hooks = ModuleHooks(library, module, _compiles(when_begun))
    when_begun.append(
        hooks.remove
    )  # before PyTorch warns about hooks that a compiled module would call
    watch(hooks.follow)

    def undo() -> None:
        watch(_ignore)
        hooks.remove()

    return [undo]


def _ignore(records: int) -> None:
    pass


def _compiles(when_begun: List[Undo]) -> Callable[[], bool]:
    """Returns a function that says whether the program has begun to compile anything. Calls
    `when_begun` when it does."""
    torch = sys.modules["torch"]
    begun: List[bool] = []

    def marked(compiling: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(compiling)
        def compile(*arguments: Any, **named: Any) -> Any:
            begun.append(True)
            for call in when_begun:
                call()
            try:
                return compiling(*arguments, **named)
            except BaseException:
                hide_frame()
                raise

        return compile

    wrap(torch, "compile", marked)

    def compiles() -> bool:
        if begun:
            return True
        frames = sys.modules.get("torch._dynamo.eval_frame")
        return getattr(frames, "most_recent_backend", None) is not None

    return compiles
