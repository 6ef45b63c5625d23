"""A wrapped program's coverage is what it is without the wrapper: no file of Stepscope is in it."""

import ast
import importlib.util
import json
import textwrap

import pytest

from pythons import INJECT, PACKAGE, VERSIONS

PROGRAM = """
    import torch
    from torch.utils.data.dataloader import _SingleProcessDataLoaderIter as Loader
    import stepscope
    import stepscope._marks

    def closure():
        return 1

    for batch in stepscope.input(Loader([1, 2])):
        torch.optim.SGD().step(closure)
        stepscope.step()
    with stepscope.scope("end"):
        torch.save(1, [])
    try:
        import stepscope._missing
    except ImportError:
        pass
"""

TRACED = (
    """
    import atexit, sys, threading
    seen = set()
    sys.settrace(lambda frame, event, argument: seen.add(frame.f_code.co_filename))
    threading.settrace(sys.gettrace())
    atexit.register(lambda: open("seen", "w").write("\\n".join(seen)))
"""
    + PROGRAM
)


@VERSIONS
def test_a_tracer_sees_no_file_of_stepscope(wrapped, version):
    wrapped.with_fake_torch(version).run(TRACED)
    seen = (wrapped.folder / "seen").read_text().splitlines()
    assert "<stepscope _torch.py>" in seen, "the marks ran"
    assert "<stepscope _marks.py>" in seen, "the package of the program, too"
    assert [file for file in seen if file.startswith(str(PACKAGE))] == []
    assert [file for file in seen if "stepscope" in file and not file.startswith("<")] == []


def test_the_package_of_a_program_knows_its_files(wrapped):
    wrapped.run(f"""
        import stepscope, stepscope._marks
        assert stepscope.__file__ == {str(PACKAGE / "stepscope/__init__.py")!r}
        assert stepscope._marks.__file__ == {str(PACKAGE / "stepscope/_marks.py")!r}
        import importlib
        importlib.reload(stepscope._marks)
    """)


def test_the_file_that_python_itself_starts_counts_no_statement():
    """A coverage tool that is active before it runs cannot be kept from seeing it."""
    text = (INJECT / "sitecustomize.py").read_text()
    lines = text.splitlines()
    for statement in ast.parse(text).body[1:]:
        assert "# pragma: no cover" in lines[statement.lineno - 1]
        for handler in getattr(statement, "handlers", []):
            assert "# pragma: no cover" in lines[handler.lineno - 1]


needs_coverage = pytest.mark.skipif(
    importlib.util.find_spec("coverage") is None, reason="pip install coverage"
)


def measured(python, start, core):
    """The statements and missing lines of each file that coverage lists."""
    python.environment["COVERAGE_CORE"] = core
    (python.folder / "rc").write_text(
        "[run]\nbranch = true\nparallel = true\npatch = subprocess\ndisable_warnings = no-sysmon"
    )
    (python.folder / start).write_text("import program")
    for words in (["run", start], ["combine", "-q"], ["json", "-q", "-o", "report.json"]):
        python.run_arguments("-m", "coverage", words[0], "--rcfile=rc", *words[1:])
    files = json.loads((python.folder / "report.json").read_text())["files"]
    return {name: file["summary"] for name, file in files.items()}


@needs_coverage
@pytest.mark.parametrize("core", ["ctrace", "pytrace", "sysmon"])
def test_coverage_is_the_same(python, fake_library, core):
    python.with_fake_torch("2")
    (python.folder / "program.py").write_text(textwrap.dedent(PROGRAM))
    wrapped = measured(python.wrapped(fake_library), "main.py", core)
    assert [name for name in wrapped if "profiler/python" in name] == []
    assert "program.py" in wrapped


@needs_coverage
def test_coverage_of_subprocesses_counts_no_statement_of_stepscope(python, fake_library):
    python.with_fake_torch("2").wrapped(fake_library)
    (python.folder / "program.py").write_text(
        "import subprocess, sys\nsubprocess.run([sys.executable, 'child.py'], check=True)"
    )
    (python.folder / "child.py").write_text(textwrap.dedent(PROGRAM))
    found = measured(python, "main.py", "ctrace")
    assert "child.py" in found
    ours = {name: found[name] for name in found if "profiler/python" in name}
    assert [file["num_statements"] for file in ours.values()] == [0] * len(ours)
