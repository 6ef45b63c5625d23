"""Documents as JSON that every reader accepts: there is no NaN and no Infinity in it."""

import json

from .problem import Problem


def json_text(document: object, indent: int | None = 2) -> str:
    separators = (",", ":") if indent is None else None
    try:
        return json.dumps(document, indent=indent, separators=separators, allow_nan=False)
    except ValueError as error:
        raise Problem(f"the answer has a number that JSON does not have ({error})") from error
