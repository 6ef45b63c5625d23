"""What a column of a store or of a lake may hold. Stores and lakes come from anywhere, so everything that is read from
them is checked against these descriptions: store_schema.py checks a store, lake_check.py a file of a lake."""

import dataclasses

import pyarrow as pa
import pyarrow.compute as pc

# Limits of what a store or a lake may say; docs/security.md lists them. No recording comes near them.
MOST_RANKS = 1 << 20
MOST_STEPS = 1 << 62
FARTHEST_NS = 366 * 24 * 3600 * 10**9  # of a duration, and of a time from the start of its session
LATEST_UNIX_NS = 4 * 10**18  # in the year 2096
MOST_RESTARTS = 10**9
LONGEST_TEXT = 64 * 1024  # bytes in UTF-8
_ROUNDING = 1e-6  # by which a share may be beyond 0 or 1


@dataclasses.dataclass(frozen=True)
class Column:
    """`low`, `high`: the least and the largest number, if there are such limits; for text, `high` is the most bytes."""

    name: str
    type: pa.DataType
    low: float | None = None
    high: float | None = None
    nullable: bool = False

    def allowed(self) -> str:
        """In words."""
        if pa.types.is_string(self.type):
            return f"text of at most {self.high} bytes without U+0000"
        if pa.types.is_boolean(self.type):
            return "true or false"
        kind = "a number" if pa.types.is_floating(self.type) else "an integer"
        return kind if self.low is None else f"{kind} from {self.low} to {self.high}"

    def wrong(self, values: pa.Array | pa.ChunkedArray) -> str | None:
        """What is wrong with the first wrong one of `values`, which have this type; None: nothing."""
        if values.null_count and not self.nullable:
            return "is NULL in some row"
        if values.null_count == len(values) or pa.types.is_boolean(self.type):
            return None
        if pa.types.is_string(self.type):
            return _wrong_text(values, self.high)
        if pa.types.is_floating(self.type) and not pc.all(pc.is_finite(values)).as_py():
            return "has a value that is not a finite number"
        found = pc.min_max(values).as_py()
        for value in (found["min"], found["max"]):
            if self.low is not None and not self.low <= value <= self.high:
                return f"has {value}, but can only have {self.allowed()}"
        return None


def _wrong_text(values: pa.Array | pa.ChunkedArray, most: int) -> str | None:
    try:
        values.validate(full=True)
    except pa.ArrowException:
        return "has text that is not UTF-8"
    each = pc.unique(values)
    if pc.max(pc.binary_length(each)).as_py() > most:
        return f"has text of more than {most} bytes"
    if pc.any(pc.match_substring(each, "\0")).as_py():
        return "has text with the character U+0000"
    return None


def text(name: str, nullable: bool = False, most: int = LONGEST_TEXT) -> Column:
    return Column(name, pa.string(), 0, most, nullable)


def flag(name: str) -> Column:
    return Column(name, pa.bool_())


def integer(name: str, low: int, high: int, nullable: bool = False) -> Column:
    return Column(name, pa.int64(), low, high, nullable)


def any_integer(name: str, nullable: bool = False) -> Column:
    return Column(name, pa.int64(), nullable=nullable)


def place(name: str, nullable: bool = False) -> Column:
    """The number of a rank, or its place in a group of ranks."""
    return Column(name, pa.int32(), 0, MOST_RANKS - 1, nullable)


def step_number(name: str, nullable: bool = False) -> Column:
    return integer(name, 0, MOST_STEPS - 1, nullable)


def duration(name: str) -> Column:
    return integer(name, 0, FARTHEST_NS)


def unix_time(name: str, nullable: bool = False) -> Column:
    return integer(name, -FARTHEST_NS, LATEST_UNIX_NS + FARTHEST_NS, nullable)


def share(name: str) -> Column:
    return Column(name, pa.float64(), -_ROUNDING, 1 + _ROUNDING)


# What a lake takes from a store as it is.
LINE = (
    text("place"),
    text("category"),
    text("file"),
    any_integer("line"),
    text("function"),
    share("share"),
    duration("step_ns"),
)
VERDICT = (
    text("kind"),
    text("degree", nullable=True),
    share("share"),
    text("confidence"),
)
