"""record(): a recording from inside the program."""

import json
import shutil
import sqlite3
import subprocess
import sys

import pytest

from pythons import PACKAGE


@pytest.fixture
def notebook(python, fake_library):
    return python.with_package(fake_library)


def test_records_from_start_to_end(notebook):
    notebook.run("""
        import pathlib, stepscope
        with stepscope.record(pathlib.Path("a.db"), steps=(500, 520), shapes=True, ring_bytes=65536) as recording:
            stepscope.step()
            assert recording.error is None
        with stepscope.record(ops=False): pass
    """)
    assert notebook.calls() == [
        "start a.db steps 500-520 ops 1 shapes 1 ring 65536",
        "step",
        "stop",
        "start run.db steps 0-0 ops 0 shapes 0 ring 0",
        "stop",
    ]


def test_decorates_a_function_each_call_a_recording(notebook):
    notebook.run("""
        import stepscope

        @stepscope.record("f.db")
        def train(n): return n

        assert [train(1), train(2)] == [1, 2]
    """)
    assert notebook.calls() == ["start f.db steps 0-0 ops 1 shapes 0 ring 0", "stop"] * 2


def test_an_exception_ends_it_and_comes_through(notebook):
    notebook.run("""
        import stepscope
        try:
            with stepscope.record("a.db"):
                raise KeyError
        except KeyError:
            pass
    """)
    assert notebook.calls()[-1] == "stop"


def test_started_and_stopped_by_hand_in_two_cells(notebook):
    notebook.run("""
        import stepscope
        recording = stepscope.record("a.db")
        recording.start(); recording.start()
        recording.stop(); recording.stop()
    """)
    assert notebook.calls() == ["start a.db steps 0-0 ops 1 shapes 0 ring 0", "stop"]


def test_the_end_of_the_program_ends_it(notebook):
    notebook.run("""
        import atexit, os, stepscope, sys
        stepscope.record("a.db").start()
        if os.fork() == 0:
            sys.exit()
        os.wait()
        atexit.register(stepscope.step)
    """)
    assert notebook.calls() == ["start a.db steps 0-0 ops 1 shapes 0 ring 0", "step", "stop"]


INTERRUPTED = """
    import signal, stepscope
    from stepscope import _library

    library = _library.load()

    def interrupted(name):
        function = getattr(library, name)

        def call(*arguments):
            signal.raise_signal(signal.SIGINT)
            result = function(*arguments)
            signal.raise_signal(signal.SIGINT)
            return result

        setattr(library, name, call)

    recording = stepscope.record("a.db")
"""


def test_an_interrupt_while_it_begins_leaves_nothing_recorded(notebook):
    notebook.run(
        INTERRUPTED
        + """
    interrupted("start")
    for begin in (recording.start, recording.__enter__):
        try:
            begin()
        except KeyboardInterrupt:
            continue
        raise AssertionError("the interrupt was lost")
    """
    )
    assert notebook.calls() == ["start a.db steps 0-0 ops 1 shapes 0 ring 0", "stop"] * 2


def test_an_interrupt_while_it_ends_comes_through_when_it_has_ended(notebook):
    notebook.run(
        INTERRUPTED
        + """
    interrupted("stop")
    came = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    with recording:
        pass
    assert len(came) == 2, "a second interrupt is not lost"
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with recording:
            pass
    except KeyboardInterrupt:
        pass
    else:
        raise AssertionError("the interrupt was lost")
    """
    )
    assert notebook.calls() == ["start a.db steps 0-0 ops 1 shapes 0 ring 0", "stop"] * 2


def test_records_in_another_thread(notebook):
    """Only the main thread can hold interrupts back."""
    notebook.run("""
        import stepscope, threading

        def record():
            with stepscope.record("a.db"): pass

        thread = threading.Thread(target=record)
        thread.start()
        thread.join()
    """)
    assert notebook.calls()[-1] == "stop"


@pytest.mark.parametrize("output", [r'"prec\0ious.db"', r'b"prec\0ious.db"'])
def test_a_null_byte_does_not_cut_the_path(notebook, output):
    notebook.run(f"""
        import stepscope
        try:
            stepscope.record({output})
        except ValueError as error:
            assert "embedded null byte" in str(error), error
        else:
            raise AssertionError("recorded")
    """)
    assert notebook.calls() == []


@pytest.mark.parametrize(
    "options",
    ["steps=(0, 5)", "steps=(7, 3)", "steps=5", "steps=('a', 'b')", "ring_bytes=-1", "ops='all'"],
)
def test_refuses_what_makes_no_sense(notebook, options):
    notebook.run(f"""
        import stepscope
        try:
            stepscope.record("a.db", {options})
        except ValueError as error:
            print(error)
            assert {options.split("=")[0]!r} in str(error)
        else:
            raise AssertionError("no error")
    """)


def test_what_the_library_refuses_is_one_line_and_no_exception(notebook):
    notebook.environment["STEPSCOPE_FAKE_ERROR"] = "a.db: not recorded: disk full"
    done = notebook.run(
        """
        import stepscope
        with stepscope.record("a.db") as recording:
            print("trained")
        assert recording.error == "a.db: not recorded: disk full"
    """,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "trained\n")
    assert done.stderr == "stepscope: a.db: not recorded: disk full\n"
    assert "stop" not in notebook.calls(), "it is somebody else's recording that runs"


def test_the_line_is_written_at_once(notebook):
    """Lines of several threads do not mix."""
    notebook.environment["STEPSCOPE_FAKE_ERROR"] = "a.db: not recorded: disk full"
    notebook.run("""
        import io, stepscope, sys

        class Writes(io.StringIO):
            def write(self, text):
                if text:
                    texts.append(text)

        texts = []
        sys.stderr = Writes()
        stepscope.record("a.db").start()
        sys.stderr = sys.__stderr__
        assert texts == ["stepscope: a.db: not recorded: disk full\\n"], texts
    """)


def test_a_missing_library_is_one_line_and_no_exception(python):
    python.environment["STEPSCOPE_LIBRARY"] = "/nowhere/libstepscope.so"
    done = python.with_package().run(
        """
        import stepscope
        with stepscope.record("a.db") as recording:
            stepscope.step()
        assert "not found" in recording.error
    """,
        check=False,
    )
    assert done.returncode == 0
    assert done.stderr == (
        "stepscope: a.db: not recorded: libstepscope.so was not found; "
        "name it in the environment variable STEPSCOPE_LIBRARY\n"
    )


def test_under_stepscope_run_one_line_says_that_it_records_nothing_itself(wrapped):
    done = wrapped.run(
        """
        import stepscope
        with stepscope.record("a.db") as recording:
            print("trained")
        assert "stepscope run" in recording.error
    """,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "trained\n")
    assert done.stderr == (
        "stepscope: a.db: not recorded by itself: `stepscope run` records the whole process\n"
    )


@pytest.mark.parametrize("where", ["beside the package", "on the loader's path", "in the process"])
def test_finds_the_library(python, fake_library, tmp_path, where):
    library = tmp_path / "prefix/lib/libstepscope.so"
    package = tmp_path / "prefix/lib/stepscope/python"
    shutil.copytree(PACKAGE / "stepscope", package / "stepscope")
    shutil.copy(fake_library, library)
    if where == "beside the package":
        python.path = [package]
    else:
        python.with_package()
        variable = "LD_PRELOAD" if where == "in the process" else "LD_LIBRARY_PATH"
        python.environment[variable] = str(library if where == "in the process" else library.parent)
    python.run("import stepscope\nwith stepscope.record('a.db'): pass")
    assert python.calls()[-1] == "stop"


# --- what of torch it marks ----------------------------------------------------------------------


TRAIN = """
    import stepscope, torch
    from torch.utils.data.dataloader import _SingleProcessDataLoaderIter as Loader
    sgd = torch.optim.SGD()

    def step():
        torch.autograd.backward("loss")
        sgd.step()
"""


@pytest.mark.parametrize("version", ["1.13", "2"])
def test_marks_loader_backward_and_optimizer_while_it_records(notebook, version):
    notebook.with_fake_torch(version).run(
        TRAIN
        + """
    def all_of_it():
        for batch in Loader([1]): step()

    before = vars(torch.optim.SGD)["step"], torch.autograd.backward, Loader.__next__
    all_of_it()
    with stepscope.record("a.db"):
        all_of_it()
    all_of_it()
    assert (vars(torch.optim.SGD)["step"], torch.autograd.backward, Loader.__next__) == before
    """
    )
    assert notebook.calls() == [
        "start a.db steps 0-0 ops 1 shapes 0 ring 0",
        "torch_loaded",
        "begin input DataLoader",
        "end input",
        "begin backward",
        "end backward",
        "begin optimizer SGD",
        "end optimizer",
        "begin input DataLoader",
        "end input exhausted",
        "stop",
    ]


@pytest.mark.parametrize("version", ["1.13", "2"])
def test_marks_an_optimizer_that_is_made_while_it_records_and_no_longer(notebook, version):
    notebook.environment["STEPSCOPE_FAKE_RANGES"] = "1"
    notebook.with_fake_torch(version).run(
        """
    import stepscope, torch

    class Lion(torch.optim.Optimizer):
        def step(self): pass

    with stepscope.record("a.db"):
        lion = Lion()
        lion.step()
    lion.step()
    """
    )
    assert notebook.calls()[2:] == [
        "marks_python_ranges 1",
        "begin optimizer Lion",
        "end optimizer",
        "marks_python_ranges 0",
        "stop",
    ]


def test_records_again_and_again(notebook):
    notebook.with_fake_torch("2").run(
        TRAIN
        + """
    for cell in range(3):
        with stepscope.record("a.db"): step()
    """
    )
    assert notebook.calls().count("begin optimizer SGD") == 3
    assert notebook.calls().count("begin backward") == 3


# --- the real thing ------------------------------------------------------------------------------


@pytest.mark.torch
@pytest.mark.parametrize("first_backward", ["before", "in"])
def test_a_notebook_is_recorded(python, build_dir, stepscope, first_backward):
    """With the real library and torch, whether or not libtorch's backward was bound before."""
    pytest.importorskip("torch", reason="pip install torch")
    python.with_package(build_dir / "lib/libstepscope.so")
    done = python.run(
        f"""
        import stepscope, torch
        from torch.utils.data import DataLoader, TensorDataset
        torch.set_num_threads(1)
        model = torch.nn.Linear(8, 8)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def step(batch):
            optimizer.zero_grad()
            model(batch).sum().backward()
            optimizer.step()

        if {first_backward!r} == "before":
            step(torch.randn(4, 8))
        loader = DataLoader(TensorDataset(torch.randn(120, 8)), batch_size=4)
        with stepscope.record("run.db") as recording:
            for (batch,) in loader:
                step(batch)
        print(recording.error)
    """,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "None\n"), done.stderr
    with sqlite3.connect(python.folder / "run.db") as store:
        kinds = dict(
            store.execute(
                "SELECT k.name, count(DISTINCT start_ns) FROM phase JOIN phase_kind AS k ON k.id = kind GROUP BY 1"
            )
        )
    assert kinds["optimizer"] == 30
    assert kinds["input"] in (30, 31), "31: with the fetch that found the end, which begins no step"
    assert kinds["backward"] in (30, 60), "60: seen from both sides, one inside the other"
    report = json.loads(
        subprocess.run(
            [stepscope, "analyze", "--json", python.folder / "run.db"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )
    assert (report["steps"]["count"], report["steps"]["marker"]) == (30, "loader")
    assert report["phases"]["backward"] > 0 and report["phases"]["optimizer"] > 0


def test_installs_with_pip(tmp_path):
    """Into a folder, from a copy: setuptools leaves things beside what it builds."""
    pytest.importorskip("setuptools", reason="pip install setuptools")
    source = tmp_path / "source"
    shutil.copytree(PACKAGE, source)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "-q",
            "--no-build-isolation",
            "--no-deps",
            "--disable-pip-version-check",
            "--target",
            tmp_path / "site",
            source,
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    installed = {
        str(file.relative_to(tmp_path / "site/stepscope"))
        for file in (tmp_path / "site/stepscope").iterdir()
        if file.is_file()
    }
    assert installed == {file.name for file in (PACKAGE / "stepscope").iterdir() if file.is_file()}
    assert not (tmp_path / "site/sitecustomize.py").exists()
