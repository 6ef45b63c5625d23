"""Tells which process groups this rank is in, and its place in each: its data, tensor or pipeline parallel rank.

A DeviceMesh has names for its dimensions, if its creator gives them, and Megatron-LM describes its
groups. Other groups say nothing.
"""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable, Dict, List

from . import _library
from ._frames import hide_frame
from ._wrap import Undo, attribute, wrap

MARK = "parallel groups: "  # profiler/recorder/process_drain.cc reads scopes with this name
_MOST = 12
_LONGEST = 32
# Megatron-LM's descriptions (megatron/core/parallel_state.py).
_MEGATRON = {
    "DATA_PARALLEL_GROUP": "dp",
    "TENSOR_MODEL_PARALLEL_GROUP": "tp",
    "PIPELINE_MODEL_PARALLEL_GROUP": "pp",
    "CONTEXT_PARALLEL_GROUP": "cp",
    "EXPERT_MODEL_PARALLEL_GROUP": "ep",
}


def mark_groups(library: _library.Library) -> List[Undo]:
    """Marks the creation of each mesh with names, and of each group of a known kind, with the places in
    all groups so far."""
    places: Dict[str, str] = {}

    def tell(kind: str, rank: Any, size: Any) -> None:
        is_member = isinstance(rank, int) and isinstance(size, int) and 0 <= rank < size
        if not is_member or not _is_plain(kind) or places.get(kind) == f"{rank}/{size}":
            return
        if kind not in places and len(places) == _MOST:
            return
        places[kind] = f"{rank}/{size}"
        told = ",".join(f"{kind}={place}" for kind, place in sorted(places.items()))
        library.end_scope(library.begin_scope((MARK + told).encode()))

    def tell_of_mesh(mesh: Any) -> None:
        where = mesh.get_coordinate()  # None: not in the mesh
        for name, rank, size in zip(mesh.mesh_dim_names or (), where or (), mesh.mesh.shape):
            tell(name.lower(), rank, size)

    def mesh_marked(create: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(create)
        def __init__(self: Any, *arguments: Any, **named: Any) -> None:
            try:
                create(self, *arguments, **named)
            except BaseException:
                hide_frame()
                raise
            try:
                tell_of_mesh(self)
            except Exception:
                pass

        return __init__

    # All ways to create a group call this.
    def group_marked(create: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(create)
        def created(size: Any, rank: Any, *arguments: Any, **named: Any) -> Any:
            try:
                group = create(size, rank, *arguments, **named)
            except BaseException:
                hide_frame()
                raise
            kind = _MEGATRON.get(named.get("group_desc") or "")
            if kind:
                try:
                    tell(kind, rank, size)
                except Exception:
                    pass
            return group

        return created

    mesh = attribute("torch.distributed.device_mesh", "DeviceMesh")
    groups = sys.modules.get("torch.distributed.distributed_c10d")
    undo = wrap(mesh, "__init__", mesh_marked) if mesh is not None else []
    return undo + (wrap(groups, "_new_process_group_helper", group_marked) if groups else [])


def _is_plain(name: str) -> bool:
    return name.isascii() and name.replace("_", "a").isalnum() and len(name) <= _LONGEST
