#!/usr/bin/env python3
"""Adds up the JUnit files of test.sh's suites.

usage: junit_summary.py [--row] SUITES.tsv

A line of SUITES.tsv is one suite: name, seconds, exit code, JUnit file, separated by tabs. The exit
code of a suite that was left out for lack of time is "-". Without options prints the table of all
suites and, as the last line, "N passed, N failed, N skipped", and how many suites were left out;
exits with 1 when anything failed or nothing passed. With --row prints the last suite's counts alone.
"""

import dataclasses
import pathlib
import sys
import xml.etree.ElementTree as ElementTree


@dataclasses.dataclass
class Suite:
    name: str
    seconds: int
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    note: str = ""
    left_out: int = 0  # suites

    def counts(self) -> str:
        text = f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"
        if self.left_out:
            text += f"; suites left out for lack of time: {self.left_out}"
        return text


def outcome(case: ElementTree.Element) -> str:
    """'failed', 'skipped' or 'passed', as CTest and pytest write it."""
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    if case.get("status") == "fail":
        return "failed"
    if case.find("skipped") is not None or case.get("status") in ("disabled", "notrun"):
        return "skipped"
    return "passed"


def read_suite(line: str) -> Suite:
    name, seconds, code, junit = line.rstrip("\n").split("\t")
    suite = Suite(name, int(seconds))
    if code == "-":
        suite.left_out, suite.note = 1, "left out"
        return suite
    try:
        cases = list(ElementTree.parse(junit).iter("testcase"))
    except (OSError, ElementTree.ParseError):
        cases = []
        suite.note = "no test ran"
    # A test that was tried again is there once for each try: the last one counts.
    tests = {(case.get("classname"), case.get("name")): case for case in cases}
    for case in tests.values():
        kind = outcome(case)
        setattr(suite, kind, getattr(suite, kind) + 1)
    if len(cases) > len(tests):
        suite.note = f"tried again: {len(cases) - len(tests)}"
    # A suite that broke before, between or after its tests has failed too. One without a single
    # test has tested nothing, which must not look like success.
    if suite.failed == 0 and (code != "0" or not cases):
        suite.failed += 1
        suite.note = suite.note or f"ended with exit code {code}"
    return suite


def table(suites: list[Suite]) -> str:
    width = max(len(suite.name) for suite in suites)
    lines = [f"{'suite':{width}}  {'passed':>7} {'failed':>7} {'skipped':>7} {'seconds':>8}"]
    for suite in suites:
        lines.append(
            f"{suite.name:{width}}  {suite.passed:7} {suite.failed:7} {suite.skipped:7} "
            f"{suite.seconds:8}  {suite.note}".rstrip()
        )
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    last_only = arguments[:1] == ["--row"]
    lines = pathlib.Path(arguments[-1]).read_text().splitlines()
    if last_only:
        suite = read_suite(lines[-1])
        if suite.left_out:
            print("left out for lack of time")
            return 0
        print(f"{suite.counts()} in {suite.seconds} s {suite.note}".rstrip())
        return 0
    suites = [read_suite(line) for line in lines]
    total = Suite("all", sum(suite.seconds for suite in suites))
    for suite in suites:
        total.passed += suite.passed
        total.failed += suite.failed
        total.skipped += suite.skipped
        total.left_out += suite.left_out
    print(table(suites), total.counts(), sep="\n\n")
    return 0 if total.failed == 0 and total.passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
