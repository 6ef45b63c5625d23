"""Which run, and which part of it, a store belongs to, by what the recorder found (docs/schema.md)."""

import hashlib
import re

from .stores import Store

LONGEST_NAME = 128
DIGEST_DIGITS = 12


def job_of(store: Store) -> str:
    """The name that runs of the same job share."""
    return store.meta.get("job_name") or store.meta.get("program") or store.whole_path.stem


def run_of(store: Store) -> str:
    """The name that the nodes of a run share. If there is none, a store is a separate run."""
    job_id = store.meta.get("job_id", "")
    named_by_user = job_id == store.meta.get("job_name")
    world = store.numbers.get("world_size", 0)
    if not job_id or (named_by_user and world <= len(store.loops)):
        return f"{job_of(store)}-{store.wall_start_unix_ns}"
    requeue = store.numbers.get("requeue_count", 0)
    return f"{job_id}.{requeue}" if requeue else job_id


def node_of(store: Store) -> str:
    """Different for each store of a run. The rank distinguishes the stores of one node if each rank has its own, and
    nodes whose number is unknown."""
    number, rank = store.numbers.get("node_rank"), store.numbers.get("rank")
    if number is None:
        return f"{store.meta.get('host') or 'host'}-{store.loops[0].rank:04d}"
    return f"{number:04d}" if rank is None else f"{number:04d}-rank-{rank:04d}"


def hosts_of(store: Store) -> dict[int, str]:
    """The host of each rank, if an imported store has ranks of several hosts."""
    pairs = re.findall(r"^(\d{1,9}):(.+)$", store.meta.get("rank_hosts", ""), re.MULTILINE)
    return {int(rank): host for rank, host in pairs}


def local_ranks_of(store: Store) -> dict[int, int]:
    """The local rank of each rank, as far as they are known."""
    pairs = re.findall(r"(\d{1,9}):(\d{1,9})(?: |$)", store.meta.get("local_ranks", ""))
    return {int(rank): int(local) for rank, local in pairs}


def safe_name(text: str) -> str:
    """For a folder or a file: `=` and `/` have a meaning in a lake. Two texts have different names: one that cannot
    be kept as it is ends with a part of its hash."""
    name = re.sub(r"[^A-Za-z0-9._-]", "_", text)
    if name == text and 0 < len(name) <= LONGEST_NAME:
        return name
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_DIGITS]
    return f"{name[: LONGEST_NAME - DIGEST_DIGITS - 1]}-{digest}"
