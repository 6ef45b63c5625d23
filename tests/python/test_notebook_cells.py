"""The magics in an IPython without a notebook, with a library that records nothing."""

import textwrap

import pytest

import pythons

pytest.importorskip("IPython", reason="pip install ipython")

# run() returns what the cell raised. A card is one line.
SHELL = """
    import signal, sys
    from IPython.core.interactiveshell import InteractiveShell
    from stepscope import _notebook

    class Card:
        def __init__(self, store, with_report): self.store = store
        def __repr__(self): return f"card of {self.store}"

    _notebook._Card = Card
    shell = InteractiveShell.instance()
    keeps_history = True  # as a notebook does

    def run(cell):
        try:
            result = shell.run_cell(cell, store_history=keeps_history)
        except KeyboardInterrupt as error:  # it came before the cell began
            return error
        return result.error_before_exec or result.error_in_exec

    run("%load_ext stepscope")
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return pythons.compile_fake(tmp_path_factory.mktemp("fake"))


@pytest.fixture
def ipython(python, library, tmp_path):
    """Runs code after SHELL; returns the finished process."""
    python.environment["IPYTHONDIR"] = str(tmp_path / "ipython")

    def run(code):
        done = python.run(textwrap.dedent(SHELL) + textwrap.dedent(code), check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    run.python = python.with_package(library)
    return run


def test_a_cell_that_is_interrupted_at_any_moment_is_not_recorded_any_longer(ipython):
    """An interrupt before each bytecode instruction of ours in turn."""
    ipython("""
        import contextlib
        import stepscope._interrupts, stepscope._recording

        OURS = {module.__file__ for module in (
            _notebook, stepscope._interrupts, stepscope._recording)}

        def is_ours(frame):
            file = frame.f_code.co_filename
            return file in OURS or file == contextlib.__file__ and is_ours(frame.f_back)

        def interrupted_at(moment):
            began = False

            def trace(frame, event, argument):
                nonlocal began, moment
                began = began or frame.f_code.co_name == "stepscope"
                if not began or not is_ours(frame):
                    return None
                frame.f_trace_opcodes, frame.f_trace_lines = True, False
                if event == "opcode":
                    moment -= 1
                    if moment == 0:
                        signal.raise_signal(signal.SIGINT)
                return trace

            sys.settrace(trace)
            try:
                error = run("%%stepscope -o a.db\\nsum([1]);")
            finally:
                sys.settrace(None)
            return moment <= 0, error

        keeps_history = False  # it would format each traceback
        shell.showtraceback = shown = lambda *a, **k: None
        handler = signal.getsignal(signal.SIGINT)
        log = open("calls.log", "a+")
        moment, interrupted = 0, True
        while interrupted:
            moment += 1
            interrupted, error = interrupted_at(moment)
            assert isinstance(error, KeyboardInterrupt) == interrupted, (moment, error)
            calls = [line.split()[1] for line in log.read().splitlines()]
            assert calls in (["start", "stop"], []), (moment, calls)
            assert shell.showtraceback is shown, moment
            assert signal.getsignal(signal.SIGINT) is handler, moment
        assert moment > 300
    """)


def test_a_cell_ends_what_interrupts_in_quick_succession_left_running(ipython):
    done = ipython("""
        shown = shell.showtraceback
        end = _notebook._Run.end

        def interrupted(run):
            raise KeyboardInterrupt

        _notebook._Run.end = interrupted
        assert isinstance(run("%%stepscope -o a.db\\nx = 1"), KeyboardInterrupt)
        _notebook._Run.end = end
        assert shell.showtraceback != shown
        run("%%stepscope -o b.db\\nx = 2")
        assert shell.showtraceback == shown
    """)
    assert "card of b.db" in done.stdout
    calls = [" ".join(call.split()[:2]) for call in ipython.python.calls()]
    assert calls == ["start a.db", "stop", "start b.db", "stop"]


def test_a_cell_in_a_recorded_cell_does_not_end_its_recording(ipython):
    inner = "get_ipython().run_cell('%%stepscope -o b.db\\nx = 1')"
    ipython(f"""run({("%%stepscope -o a.db" + chr(10) + inner)!r})""")
    calls = [" ".join(call.split()[:2]) for call in ipython.python.calls()]
    assert calls == ["start a.db", "start b.db", "stop", "stop"]  # the real one refuses the second


@pytest.mark.parametrize(
    "cell, value",
    [
        ("41", "41"),
        ("41;", None),
        ("41; # answer\n", None),
        ("';'", "';'"),
        ("%time 41;", None),
        ("x = 3;\n41", "41"),
    ],
)
def test_a_cell_shows_its_value_as_it_would(ipython, cell, value):
    done = ipython(f"""
        for cell in ({cell!r}, "%%stepscope\\n" + {cell!r}, "7"):
            print("cell")
            run(cell)
    """)
    _, plain, recorded, after = done.stdout.split("cell\n")
    assert ("Out" in plain) == (value is not None)
    shown = [line.partition(": ")[2] for line in recorded.splitlines() if line.startswith("Out")]
    assert shown == ([] if value is None else [value])
    assert after == "Out[4]: 7\n"


def test_errors_name_the_magic_that_was_used(ipython):
    ipython("""
        errors = {
            "%stepscope": "%stepscope: the following arguments are required: RUN.db",
            "%stepscope -o x.db": "%stepscope: ",
            "%stepscope 'x": "%stepscope: No closing quotation",
            "%%stepscope --bogus\\n1": "%%stepscope: unrecognized arguments: --bogus",
            "%%stepscope 'x\\n1": "%%stepscope: No closing quotation",
        }
        for cell, error in errors.items():
            assert str(run(cell)).startswith(error), run(cell)
    """)


def test_under_stepscope_run_a_cell_has_no_card(ipython, library, tmp_path):
    (tmp_path / "old.db").write_text("an earlier recording")
    ipython.python.environment |= {"STEPSCOPE_SOCKET": "/nowhere", "LD_PRELOAD": str(library)}
    done = ipython("""
        run("%%stepscope -o old.db\\nprint('ran')\\n41")
    """)
    assert done.stdout == "ran\nOut[2]: 41\n"
    assert done.stderr == (
        "stepscope: old.db: not recorded by itself: `stepscope run` records the whole process\n"
    )
