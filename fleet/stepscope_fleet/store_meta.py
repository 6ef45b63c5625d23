"""What a store's table `meta` says, where everything is text."""

import re

from .columns import LATEST_UNIX_NS, LONGEST_TEXT, MOST_RANKS, MOST_RESTARTS

_MOST = {
    "wall_start_unix_ns": LATEST_UNIX_NS,
    "world_size": MOST_RANKS,
    "node_rank": MOST_RANKS - 1,
    "rank": MOST_RANKS - 1,
    "restart_count": MOST_RESTARTS,
    "requeue_count": MOST_RESTARTS,
}
_FROM_A_LAUNCHER = _MOST.keys() - {"wall_start_unix_ns"}
_LISTS = {
    "gpu_uuids",
    "groups",
    "local_ranks",
    "ops_blocks",
    "rank_hosts",
}  # with an entry for each rank or block


def check_lengths(meta: dict[str, str]) -> None:
    """Raises ValueError if a name is too long to be repeated in each row of a lake."""
    for key in meta.keys() - _LISTS:
        if len(meta[key].encode()) > LONGEST_TEXT:
            raise ValueError(f"its {key} is longer than {LONGEST_TEXT} bytes")


def numbers_in(meta: dict[str, str]) -> dict[str, int]:
    """Those that are known. Raises ValueError if one cannot be true. Text that a launcher may have set and that is not
    a number counts as unknown."""
    found = {}
    for key, most in _MOST.items():
        text = meta.get(key, "")
        if not text or (key in _FROM_A_LAUNCHER and not re.fullmatch(r"[0-9]+", text)):
            continue
        if not re.fullmatch(r"[0-9]{1,19}", text) or int(text) > most:
            raise ValueError(f"its {key} is {text[:40]}, not an integer from 0 to {most}")
        found[key] = int(text)
    return found
