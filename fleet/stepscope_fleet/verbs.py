"""The command lines of `stepscope lake` and `stepscope fleet`."""

import argparse
import contextlib
import json
import pathlib
import re
import sys
import time
from collections.abc import Iterator

from . import pipeline, stragglers
from .answers import Engines, analyze
from .comparison import compare, compared_text
from .engine import Engine, run_named
from .lake import add
from .lake_place import Lake, lake_at
from .page import write_page
from .problem import Problem
from .remote_lake import RemoteLake
from .text import fleet_text, plain

_UNITS_S = {"h": 3600, "d": 86400, "w": 7 * 86400}


def _ago(text: str) -> float:
    match = re.fullmatch(r"(\d+)([hdw])", text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text} is not a time such as 12h, 7d or 2w")
    return int(match[1]) * _UNITS_S[match[2]]


def _price(text: str) -> float:
    try:
        price = float(text)
    except ValueError:
        price = -1.0
    if not 0 <= price < 1e9:
        raise argparse.ArgumentTypeError(f"{text} is not a price per hour such as 2.50")
    return price


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="stepscope")
    verbs = parser.add_subparsers(dest="verb", required=True)
    lake = verbs.add_parser("lake", help="gather the steps of many recordings in a folder")
    actions = lake.add_subparsers(dest="action", required=True)
    adds = actions.add_parser("add", help="add analyzed stores, or replace their steps in the lake")
    adds.add_argument("stores", nargs="+", type=pathlib.Path, metavar="STORE")
    adds.add_argument(
        "--lake",
        required=True,
        help="the folder of the lake, created if it is missing, or its address in an object store",
    )
    adds.add_argument(
        "--job", help="name that all runs of the job share; default: the name given to the run"
    )
    adds.add_argument("--run", help="name that all nodes of the run share; default: the job id")
    adds.add_argument(
        "--groups",
        help="sizes of the parallel groups, such as tp=2,dp=4,pp=2; the first has neighbouring ranks",
    )
    # What `stepscope run --watch-lake` asks with each piece: "ops RANK" for each rank that has become slow.
    adds.add_argument("--watch", type=float, metavar="SECONDS", help=argparse.SUPPRESS)
    fleet = verbs.add_parser("fleet", help="say which ranks and hosts are slow")
    fleet.add_argument("lake")
    fleet.add_argument("action", nargs="?", choices=["report", "compare"])
    fleet.add_argument("-o", "--output", type=pathlib.Path, help="the page to write")
    fleet.add_argument("--price", type=_price, help="price of one rank per hour")
    fleet.add_argument("--run", nargs="+", default=[], metavar="ID", help="only these runs")
    fleet.add_argument(
        "--since", type=_ago, help="only runs that began within this time: 12h, 7d, 2w"
    )
    fleet.add_argument(
        "--engine", choices=["duckdb", "spark"], default="duckdb", help="what runs the queries"
    )
    fleet.add_argument(
        "--master", help="with --engine spark: the address of its master; default: local[*]"
    )
    fleet.add_argument("--json", action="store_true", help="print a JSON document")
    return parser


def _add(arguments: argparse.Namespace) -> int:
    code = 0
    lake = lake_at(arguments.lake)
    for store in arguments.stores:
        try:
            added = add(
                store, lake, arguments.job, arguments.run, arguments.watch, arguments.groups
            )
            print(plain(added.text))
            for rank in added.slow_ranks:
                print(f"ops {rank}")
        except Problem as problem:  # the others are still added
            print(f"stepscope lake: {plain(problem)}", file=sys.stderr)
            code = 3
    return code


def _stragglers(file: pathlib.Path, arguments: argparse.Namespace) -> int:
    answer = stragglers.analyze(pipeline.read(file))
    told = json.dumps(answer, indent=2) if arguments.json else stragglers.text(file.name, answer)
    print(told)
    return 0


@contextlib.contextmanager
def _engines(arguments: argparse.Namespace) -> Iterator[Engines]:
    if arguments.engine == "duckdb":
        yield Engine
        return
    try:
        from .spark_engine import SparkEngines
    except ImportError as error:
        raise Problem(
            f"{sys.executable} has no {error.name}; run `pip install pyspark` for it, or omit --engine spark"
        ) from error
    with SparkEngines(arguments.master or "local[*]") as engines:
        yield engines


def _compare(lake: Lake, arguments: argparse.Namespace) -> int:
    with _engines(arguments) as engines:
        answers = analyze(lake, arguments.run, engines=engines)
    names = [run_named(name, answers.facts) for name in arguments.run]
    document = compare(*names, answers.facts)
    print(json.dumps(document, indent=2) if arguments.json else compared_text(document))
    return 0


def _fleet(arguments: argparse.Namespace) -> int:
    lake = lake_at(arguments.lake)
    if isinstance(lake, pathlib.Path) and lake.is_file():
        if arguments.action:
            raise Problem(
                f"{lake}: is a file of operations, but `{arguments.action}` needs a lake;"
                f" omit `{arguments.action}`"
            )
        return _stragglers(lake, arguments)
    if arguments.engine == "spark" and isinstance(lake, RemoteLake):
        raise Problem(
            f"{lake}: Spark reads a lake from a folder that all executors see; copy it there, or omit --engine spark"
        )
    since = time.time_ns() - int(arguments.since * 1e9) if arguments.since else 0
    if arguments.action == "compare":
        return _compare(lake, arguments)
    with _engines(arguments) as engines:
        answers = analyze(lake, arguments.run, since, arguments.price, engines)
    for line in answers.document["left_out"]:
        print(f"stepscope fleet: {plain(line)}", file=sys.stderr)
    if arguments.action == "report":
        write_page(arguments.output, lake, answers)
    elif arguments.json:
        print(json.dumps(answers.document, indent=2))
    else:
        print(fleet_text(answers.document))
    return 0


def main(words: list[str]) -> int:
    """Exit codes: 0 success, 2 wrong usage, 3 a store or a lake that cannot be used."""
    parser = _parser()
    arguments = parser.parse_args(words)
    if arguments.verb == "fleet" and arguments.action == "compare" and len(arguments.run) != 2:
        parser.error("fleet LAKE compare needs --run BEFORE AFTER: two runs of the lake")
    if arguments.verb == "fleet" and (arguments.action == "report") != bool(arguments.output):
        parser.error("fleet LAKE report and -o FILE go together: name the page to write")
    if arguments.verb == "fleet" and arguments.master and arguments.engine != "spark":
        parser.error("--master is for --engine spark")
    try:
        return _add(arguments) if arguments.verb == "lake" else _fleet(arguments)
    except Problem as problem:
        print(f"stepscope {arguments.verb}: {plain(problem)}", file=sys.stderr)
        return 3
