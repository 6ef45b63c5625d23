"""The closing line of test.sh counts what the suites did, and never calls a broken run a success."""

import junit_summary

CTEST = """<testsuite name="x" tests="4" failures="1" disabled="1" skipped="1">
  <testcase name="a" status="run"/>
  <testcase name="b" status="fail"><failure message=""/></testcase>
  <testcase name="c" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/></testcase>
  <testcase name="d" status="disabled"/>
</testsuite>"""
PYTEST = """<testsuites><testsuite name="pytest">
  <testcase name="a"/><testcase name="b"><error message="x"/></testcase>
  <testcase name="c"><skipped message="x"/></testcase>
</testsuite></testsuites>"""
GOOD = '<testsuite><testcase name="a" status="run"/></testsuite>'


def summary(tmp_path, capsys, *suites):
    """Exit code and output lines for suites given as (JUnit text or None, exit code)."""
    rows = []
    for number, (junit, code) in enumerate(suites):
        file = tmp_path / f"{number}.xml"
        if junit is not None:
            file.write_text(junit)
        rows.append(f"suite {number}\t7\t{code}\t{file}\n")
    (tmp_path / "suites.tsv").write_text("".join(rows))
    code = junit_summary.main([str(tmp_path / "suites.tsv")])
    return code, capsys.readouterr().out.splitlines()


def test_adds_up_ctest_and_pytest(tmp_path, capsys):
    code, lines = summary(tmp_path, capsys, (CTEST, 8), (PYTEST, 1))
    assert lines[-1] == "2 passed, 2 failed, 3 skipped"
    assert lines[1].split()[:6] == ["suite", "0", "1", "1", "2", "7"]
    assert code == 1


def test_success(tmp_path, capsys):
    assert summary(tmp_path, capsys, (GOOD, 0)) == (
        0,
        [
            "suite     passed  failed skipped  seconds",
            "suite 0        1       0       0        7",
            "",
            "1 passed, 0 failed, 0 skipped",
        ],
    )


def test_a_test_that_was_tried_again_counts_once(tmp_path, capsys):
    junit = GOOD.replace(
        '<testcase name="a" status="run"/>',
        '<testcase classname="m" name="a"/>'
        * 2
        + '<testcase classname="m" name="b"/><testcase classname="m" name="b"><failure/></testcase>'
        '<testcase classname="n" name="a"/>',
    )
    code, lines = summary(tmp_path, capsys, (junit, 1))
    assert (code, lines[-1]) == (1, "2 passed, 1 failed, 0 skipped")
    assert "tried again: 2" in lines[1]


def test_a_build_that_broke_is_a_failure(tmp_path, capsys):
    code, lines = summary(tmp_path, capsys, (GOOD, 0), (None, 2))
    assert (code, lines[-1]) == (1, "1 passed, 1 failed, 0 skipped")
    assert "no test ran" in lines[2]


def test_a_bad_exit_code_after_passing_tests_is_a_failure(tmp_path, capsys):
    code, lines = summary(tmp_path, capsys, (GOOD, 139))
    assert (code, lines[-1]) == (1, "1 passed, 1 failed, 0 skipped")
    assert "exit code 139" in lines[1]


def test_no_test_at_all_is_a_failure(tmp_path, capsys):
    code, lines = summary(tmp_path, capsys, ("<testsuite/>", 0))
    assert (code, lines[-1]) == (1, "0 passed, 1 failed, 0 skipped")


def test_a_suite_that_was_left_out_is_said_and_fails_nothing(tmp_path, capsys):
    code, lines = summary(tmp_path, capsys, (GOOD, 0), (None, "-"))
    assert (code, lines[-1]) == (
        0,
        "1 passed, 0 failed, 0 skipped; suites left out for lack of time: 1",
    )
    assert "left out" in lines[2]
    code, lines = summary(tmp_path, capsys, (None, "-"))
    assert code == 1, "a run that tests nothing is no success"
