"""The command lines of `stepscope lake` and `stepscope fleet`."""

import argparse
import contextlib
import pathlib
import re
import sys
import time
from collections.abc import Iterator
from typing import NoReturn

from . import pipeline, stragglers
from .answers import Answers, Engines, analyze
from .comparison import compare, compared_text
from .console import RunProgress, write_error, write_out, write_out_bytes
from .engine import Engine, run_named
from .groups import Layout
from .json_text import json_text
from .lake import add
from .lake_files import refuse_no_folder
from .lake_place import Lake, lake_at
from .output_file import refuse_output
from .page import page_text, write_page
from .problem import Problem, line_about
from .remote_lake import RemoteLake
from .text import fleet_text, plain

_STDOUT = "-"
_UNITS_S = {"h": 3600, "d": 86400, "w": 7 * 86400}


def _ago(text: str) -> float:
    match = re.fullmatch(r"(\d+)([hdw])", text)
    if not match or int(match[1]) == 0:
        raise argparse.ArgumentTypeError(
            f"{text or '(nothing)'} is not a time such as 12h, 7d or 2w"
        )
    return int(match[1]) * _UNITS_S[match[2]]


def _price(text: str) -> float:
    try:
        price = float(text)
    except ValueError:
        price = -1.0
    if not 0 <= price < 1e9:
        raise argparse.ArgumentTypeError(
            f"{text or '(nothing)'} is not a price per hour such as 2.50"
        )
    return price


def _name(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("an empty name; name a file or a folder")
    return text


def _run_name(text: str) -> str:
    """Of a run or a job."""
    if not text:
        raise argparse.ArgumentTypeError("an empty name")
    try:
        text.encode()
    except UnicodeError as error:
        raise argparse.ArgumentTypeError(f"{text} is not UTF-8") from error
    return text


def _layout(text: str) -> Layout:
    try:
        return Layout(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        write_error("".join(self.prog.split()[1:2]), message)  # "stepscope lake add"
        sys.exit(2)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="stepscope")
    verbs = parser.add_subparsers(dest="verb", required=True)
    lake = verbs.add_parser("lake", help="gather the steps of many recordings in a folder")
    actions = lake.add_subparsers(dest="action", required=True)
    adds = actions.add_parser("add", help="add analyzed stores, or replace their steps in the lake")
    adds.add_argument("stores", nargs="+", type=_name, metavar="STORE")
    adds.add_argument(
        "--lake",
        required=True,
        type=_name,
        help="the folder of the lake, created if it is missing, or its address in an object store",
    )
    adds.add_argument(
        "--job",
        type=_run_name,
        help="name that all runs of the job share; default: the name given to the run",
    )
    adds.add_argument(
        "--run", type=_run_name, help="name that all nodes of the run share; default: the job id"
    )
    adds.add_argument(
        "--groups",
        type=_layout,
        help="sizes of the parallel groups, such as tp=2,dp=4,pp=2; the first has neighbouring ranks",
    )
    # What `stepscope run --watch-lake` asks with each piece: "ops RANK" for each rank that has become slow.
    adds.add_argument("--watch", type=float, metavar="SECONDS", help=argparse.SUPPRESS)
    fleet = verbs.add_parser("fleet", help="say which ranks and hosts are slow")
    fleet.add_argument("lake", type=_name, metavar="LAKE")
    fleet.add_argument("action", nargs="?", choices=["report", "compare"])
    fleet.add_argument("-o", "--output", type=_name, help="the page to write; - is standard output")
    fleet.add_argument("--price", type=_price, help="price of one rank per hour")
    fleet.add_argument(
        "--run", nargs="+", type=_run_name, default=[], metavar="ID", help="only these runs"
    )
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
    if isinstance(lake, pathlib.Path):
        refuse_no_folder(lake)
    for store in map(pathlib.Path, arguments.stores):
        try:
            added = add(
                store,
                lake,
                arguments.job,
                arguments.run,
                arguments.watch,
                arguments.groups,
            )
        except (Problem, OSError) as error:  # the others are still added
            line = line_about(error)
            # It may be about the lake, such as a full disk.
            named = line if line.startswith(f"{store}: ") else f"{store}: not added; {line}"
            write_error("lake", named)
            code = 3
            continue
        for line in added.left_out:
            write_error("lake", line)
        try:
            write_out("\n".join([plain(added.text), *(f"ops {rank}" for rank in added.slow_ranks)]))
        except (Problem, OSError) as error:
            write_error("lake", line_about(error))
            code = 3
    return code


def _stragglers(file: pathlib.Path, arguments: argparse.Namespace) -> int:
    job = pipeline.read(file)
    try:
        answer = stragglers.analyze(job)
    except Problem as problem:
        raise Problem(f"{file}: {problem}") from problem
    write_out(json_text(answer) if arguments.json else stragglers.text(file.name, answer))
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
    _write_left_out(answers)
    names = [run_named(name, answers.facts) for name in arguments.run]
    document = compare(*names, answers.facts)
    write_out(json_text(document) if arguments.json else compared_text(document))
    return 0


def _fleet(arguments: argparse.Namespace) -> int:
    lake = lake_at(arguments.lake)
    if isinstance(lake, pathlib.Path) and lake.is_file():
        for_a_lake = _given(arguments, "action", "run", "since", "price", "spark")
        if for_a_lake:
            write_error(
                "fleet", f"{lake}: is a file of operations; omit {for_a_lake}, which needs a lake"
            )
            return 2
        return _stragglers(lake, arguments)
    if arguments.engine == "spark" and isinstance(lake, RemoteLake):
        raise Problem(
            f"{lake}: Spark reads a lake from a folder that all executors see; copy it there, or omit --engine spark"
        )
    if arguments.output and arguments.output != _STDOUT:
        refuse_output(pathlib.Path(arguments.output), lake)
    since = time.time_ns() - int(arguments.since * 1e9) if arguments.since else 0
    if arguments.action == "compare":
        return _compare(lake, arguments)
    with _engines(arguments) as engines, RunProgress() as progress:
        answers = analyze(lake, arguments.run, since, arguments.price, engines, progress)
    _write_left_out(answers)
    if arguments.action == "report":
        _report(arguments.output, lake, answers)
    else:
        document = answers.document
        write_out(json_text(document) if arguments.json else fleet_text(document))
    return 0


def _write_left_out(answers: Answers) -> None:
    for line in answers.document["left_out"]:
        write_error("fleet", line)


def _report(output: str, lake: Lake, answers: Answers) -> None:
    if output == _STDOUT:
        write_out_bytes(page_text(lake, answers).encode())
    else:
        write_page(pathlib.Path(output), lake, answers)


def _given(arguments: argparse.Namespace, *names: str) -> str:
    """The first of these that was given, as the user wrote it; "" if there is none."""
    written = {
        "action": arguments.action,
        "run": "--run" if arguments.run else None,
        "since": "--since" if arguments.since else None,
        "price": "--price" if arguments.price is not None else None,
        "json": "--json" if arguments.json else None,
        "spark": "--engine spark" if arguments.engine == "spark" else None,
    }
    return next((written[name] for name in names if written[name]), "")


def _misuse(arguments: argparse.Namespace) -> str | None:
    """What is wrong with options that do not go together."""
    if arguments.action == "compare" and len(arguments.run) != 2:
        return "LAKE compare needs --run BEFORE AFTER: two runs of the lake"
    if (arguments.action == "report") != bool(arguments.output):
        return "LAKE report and -o FILE go together: name the page to write"
    ignored = {"compare": ("since", "price"), "report": ("json",)}.get(arguments.action, ())
    if _given(arguments, *ignored):
        return (
            f"LAKE {arguments.action} does not use {_given(arguments, *ignored)}; omit one of them"
        )
    if arguments.master and arguments.engine != "spark":
        return "--master is for --engine spark"
    return None


def main(words: list[str]) -> int:
    """Exit codes: 0 success, 2 wrong usage, 3 a store or a lake that cannot be used."""
    arguments = _parser().parse_args(words)
    misuse = _misuse(arguments) if arguments.verb == "fleet" else None
    if misuse:
        write_error("fleet", misuse)
        return 2
    try:
        return _add(arguments) if arguments.verb == "lake" else _fleet(arguments)
    except (Problem, OSError) as error:
        write_error(arguments.verb, line_about(error))
        return 3
