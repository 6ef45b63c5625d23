"""How long the steps of runs take, and whether two runs differ by more than chance."""

import dataclasses
from collections.abc import Iterable

ERRORS = 4.0  # a difference of this many standard errors is not chance
FEWEST_BLOCKS = 5  # of steps: with fewer, nothing is known about chance


@dataclasses.dataclass(frozen=True)
class Profile:
    """Nanoseconds per steady step, by category; "step" is the whole step."""

    ns: dict[str, float]
    error_ns: dict[str, float]  # one standard error
    blocks: int  # that the errors come from

    @staticmethod
    def of(rows: Iterable[dict]) -> "Profile | None":
        """`rows`: the result of run_profile.sql for one run. None if the run has no steady steps."""
        every = {row["category"]: row for row in rows}
        if "step" not in every:
            return None
        return Profile(
            {name: row["ns"] for name, row in every.items()},
            {name: row["error_ns"] for name, row in every.items()},
            every["step"]["blocks"],
        )

    def categories(self) -> list[str]:
        return [name for name in self.ns if name != "step"]


@dataclasses.dataclass(frozen=True)
class Change:
    before_ns: float
    after_ns: float
    error_ns: float  # one standard error of the difference
    beyond_chance: bool | None  # None: there are too few steps to know

    @property
    def ns(self) -> float:
        return self.after_ns - self.before_ns


def change(before: Profile, after: Profile, category: str) -> Change:
    error = (before.error_ns[category] ** 2 + after.error_ns[category] ** 2) ** 0.5
    difference = after.ns[category] - before.ns[category]
    known = min(before.blocks, after.blocks) >= FEWEST_BLOCKS
    return Change(
        before.ns[category],
        after.ns[category],
        error,
        abs(difference) > ERRORS * error if known else None,
    )
