"""The answers as one HTML file that needs nothing else, in the style of the report of a run."""

import base64
import dataclasses
import hashlib
import pathlib
import re

from .answers import Answers
from .engine import QUERIES
from .json_text import json_text
from .lake_place import Lake
from .output_file import write_output
from .problem import Problem
from .tables import TABLES

_FLEET = pathlib.Path(__file__).resolve().parent.parent
# The report of a run uses these parts too: they are installed beside ours, or in the source tree.
_SHARED = (_FLEET / "page", _FLEET.parent / "viewer-export/report/page")
# Limits of the page, so that a browser opens it however large the lake is.
MOST_RUNS = 200
MOST_PICTURES = 40
MOST_SLOW_RANKS = 50
MOST_LEFT_OUT = 100
MOST_ROWS = 200  # of any other list


def _part(name: str) -> str:
    for folder in _SHARED:
        if (folder / name).is_file():
            return (folder / name).read_text(encoding="utf-8")
    raise Problem(f"{_SHARED[0] / name}: missing; reinstall Stepscope")


def _module(name: str) -> str:
    """The module without its imports, because a page that is opened from disk cannot import other files."""
    text = re.sub(r"(?m)^import [^;]*;", "", _part(f"{name}.js"))
    return re.sub(r"(?m)^export ", "", text)


def _source(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _data(lake: Lake, answers: Answers) -> dict:
    runs = answers.document["runs"]
    pictured = [run["run"] for run in runs[:MOST_PICTURES] if run["run"] in answers.heat]
    left_out = answers.document["left_out"]
    more = f"and {len(left_out) - MOST_LEFT_OUT} more files"
    fleet = answers.document | {
        "runs": [_cut(run) for run in runs[:MOST_RUNS]],
        "slow_hosts": answers.document["slow_hosts"][:MOST_ROWS],
        "regressions": answers.document["regressions"][:MOST_ROWS],
        "left_out": left_out[:MOST_LEFT_OUT] + ([more] if len(left_out) > MOST_LEFT_OUT else []),
    }
    views = "\n".join(
        f"CREATE VIEW {table} AS FROM read_parquet('{_quoted(lake)}/{table}/*/*.parquet',"
        " union_by_name = true, hive_partitioning = false);"
        for table in TABLES
    )
    return {
        "lake": str(lake),
        "fleet": fleet,
        "runs_left_out": len(runs) - len(fleet["runs"]),
        "slow_ranks": [len(run["slow_ranks"]) for run in runs[:MOST_RUNS]],
        "heat": {run: dataclasses.asdict(answers.heat[run]) for run in pictured},
        "queries": {q.name: q.read_text(encoding="utf-8") for q in sorted(QUERIES.glob("*.sql"))},
        "views": views,
    }


def _cut(run: dict) -> dict:
    return run | {
        "slow_ranks": run["slow_ranks"][:MOST_SLOW_RANKS],
        "missing_ranks": run["missing_ranks"][:MOST_ROWS],
        "nodes": run["nodes"][:MOST_ROWS],
        "unfinished_nodes": run["unfinished_nodes"][:MOST_ROWS],
    }


def _quoted(lake: Lake) -> str:
    return str(lake.resolve() if isinstance(lake, pathlib.Path) else lake).replace("'", "''")


def page_text(lake: Lake, answers: Answers) -> str:
    script = "".join(_module(name) for name in ("dom", "text", "fleet"))
    style = _part("style.css") + _part("fleet.css")
    # Names come from other machines: none may end the element that contains them.
    data = json_text(_data(lake, answers), indent=None).replace("<", "\\u003c")
    parts = {
        "CONNECT": "",
        "SCRIPT_SOURCES": _source(script),
        "STYLE_SOURCES": _source(style),
        "STYLE": style,
        "NAVIGATION": "",
        "VERB": "fleet",
        "DATA": f'<script type="application/json" id="fleet-data">{data}</script>\n'
        f'<script type="module">{script}</script>',
    }
    # In one pass, so that inserted text is not searched for placeholders.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _part("page.html"))


def write_page(path: pathlib.Path, lake: Lake, answers: Answers) -> None:
    write_output(path, page_text(lake, answers).encode(), lake)
