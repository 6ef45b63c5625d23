"""Which job and which node of it a store is of, by what the scheduler set for its command."""

import re

from .stores import Store

# The first that is set names the job; Kubernetes sets none.
_JOBS = ("SLURM_JOB_ID", "TORCHELASTIC_RUN_ID", "RAY_JOB_ID")
_NODES = ("GROUP_RANK", "NODE_RANK", "SLURM_NODEID", "JOB_COMPLETION_INDEX")
_WORLDS = ("WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE")


def _first(environment: dict[str, str], names: tuple[str, ...]) -> str | None:
    found = (environment[name] for name in names if environment.get(name))
    return next((text for text in found if text not in ("none", "None")), None)


def job_of(store: Store) -> str | None:
    environment = store.environment()
    job = _first(environment, _JOBS)
    index = environment.get("JOB_COMPLETION_INDEX")
    if job is None and index is not None:  # an indexed job: its pods are called JOB-INDEX
        host = store.meta.get("host", "")
        job = host.removesuffix(f"-{index}") if host.endswith(f"-{index}") else None
    return job


def node_of(store: Store) -> str:
    """Of two nodes of a run never the same: the ranks tell those apart whose command knew no number."""
    number = _first(store.environment(), _NODES)
    if number is not None and number.isdigit():
        return number.zfill(4)
    return f"{store.meta.get('host') or 'host'}-{store.loops[0].rank:04d}"


def world_size_of(store: Store) -> int | None:
    text = _first(store.environment(), _WORLDS)
    return int(text) if text is not None and text.isdigit() else None


def safe_name(text: str) -> str:
    """For a folder or a file: `=` and `/` mean something in a lake."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", text)[:128] or "_"
