"""The marks: what they tell libstepscope, and that the program cannot tell the difference."""

import re

import pytest

from pythons import PACKAGE, ROOT, compile_fake

# --- step() --------------------------------------------------------------------------------------


def test_step(marked):
    assert marked("import stepscope; stepscope.step()") == ["step"]


def test_step_decorates_a_training_step(marked):
    assert marked("""
        import stepscope

        @stepscope.step
        def train(batch, *, rate):
            "trains"
            if batch < 0:
                raise ValueError
            return batch * rate

        assert train(3, rate=2) == 6
        assert (train.__name__, train.__doc__) == ("train", "trains")
        try:
            train(-1, rate=2)
        except ValueError:
            pass
    """) == ["step"], "the step that raised did not end"


# --- scope() -------------------------------------------------------------------------------------


def test_scope_labels_a_stretch(marked):
    assert marked("""
        import stepscope
        with stepscope.scope("checkpoint") as entered:
            with stepscope.scope("prüfen"):
                pass
        assert isinstance(entered, stepscope.scope)
    """) == ["begin scope checkpoint", "begin scope prüfen", "end scope", "end scope"]


def test_scope_lets_exceptions_through(marked):
    assert marked("""
        import stepscope
        try:
            with stepscope.scope("a"):
                raise KeyError("mine")
        except KeyError as error:
            assert error.args == ("mine",)
    """) == ["begin scope a", "end scope"]


def test_scope_decorates_and_nests_in_itself(marked):
    assert (
        marked("""
        import stepscope

        @stepscope.scope("f")
        def factorial(n):
            return 1 if n == 0 else n * factorial(n - 1)

        assert factorial(2) == 2
        assert factorial.__name__ == "factorial"
    """)
        == ["begin scope f"] * 3 + ["end scope"] * 3
    )


def test_lengths_are_a_scope_of_no_length(marked):
    assert marked("""
        import stepscope
        stepscope.lengths(map(len, ["some", "words"]))
        stepscope.lengths([3], padded_to=128)
        stepscope.lengths([])
    """) == ["begin scope lengths 4 5", "end scope", "begin scope lengths/128 3", "end scope"]


def test_lengths_of_a_long_batch_are_several_marks(marked):
    calls = marked("""
        import stepscope
        stepscope.lengths(range(1000))
    """)
    texts = [call.removeprefix("begin scope ") for call in calls if call.startswith("begin")]
    assert all(text.startswith("lengths ") and len(text) < 2000 for text in texts)
    assert [int(word) for text in texts for word in text.split()[1:]] == list(range(1000))


@pytest.mark.parametrize("function", ["def f(): yield", "async def f(): pass"])
def test_scope_refuses_what_it_would_label_wrongly(marked, function):
    marked(f"""
        import stepscope
        {function}
        try:
            stepscope.scope("x")(f)
        except TypeError as error:
            assert "with" in str(error)
        else:
            raise AssertionError("no error")
    """)


@pytest.mark.parametrize("name", ["''", "'x' * 5000", r"'\ud800'", r"'a\0b'", "17"])
def test_any_name_will_do(marked, name):
    calls = marked(f"import stepscope\nwith stepscope.scope({name}): pass")
    assert calls[0].startswith("begin scope")
    assert calls[-1] == "end scope"


def test_scopes_of_threads_do_not_mix(marked):
    """One object, entered by eight threads at once: each ends what it began."""
    calls = marked("""
        import stepscope, threading
        scope = stepscope.scope("shared")
        together = threading.Barrier(8)

        def work():
            for _ in range(50):
                together.wait()
                with scope:
                    together.wait()

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
    """)
    assert calls.count("begin scope shared") == 400
    assert calls.count("end scope") == 400, "none on another thread, none garbled"


# --- as CPython's own functions ------------------------------------------------------------------


def test_the_real_library_has_every_mark_as_a_function_of_cpythons_own(python, build_dir):
    python.with_package().environment["LD_PRELOAD"] = str(build_dir / "lib/libstepscope.so.0")
    python.run("""
        import sys, types
        from stepscope import _library
        library = _library.attached()
        marks = [mark for name, mark in vars(library).items() if name.startswith(("begin_", "end_", "in_"))]
        assert len(marks) == 16
        for mark in marks:
            assert isinstance(mark, types.BuiltinFunctionType), mark

        # Nothing is leaked or given back twice.
        label = bytes(range(100))
        before = sys.getrefcount(label), sys.getrefcount(None)
        for _ in range(1000):
            library.end_input(library.begin_input(label))
            library.end_of_input(library.begin_input(label))
        after = sys.getrefcount(label), sys.getrefcount(None)
        assert after[0] == before[0] and abs(after[1] - before[1]) < 100, (before, after)
        optimizer, name = object(), str(label)
        before = sys.getrefcount(optimizer), sys.getrefcount(name), sys.getrefcount(None)
        for _ in range(1000):
            library.begin_optimizer_step(optimizer, name)
            library.end_optimizer_step(optimizer)
        after = sys.getrefcount(optimizer), sys.getrefcount(name), sys.getrefcount(None)
        assert after[:2] == before[:2] and abs(after[2] - before[2]) < 100, (before, after)
        library.begin_optimizer_step(optimizer, "\\udc80")  # cannot be UTF-8
        library.end_optimizer_step(optimizer)

        for wrong in "text", None, 3:
            for mark in library.begin_scope, library.end_scope:
                try:
                    mark(wrong)
                except TypeError:
                    continue
                raise AssertionError(mark)
        assert library.end_scope(b"no phase") is None
    """)


# --- where nothing records -----------------------------------------------------------------------

EVERY_MARK = """
    import stepscope
    assert not stepscope.is_recording()
    stepscope.step()
    with stepscope.scope("x"):
        assert list(stepscope.input([1, 2])) == [1, 2]
    assert stepscope.step(lambda n: n + 1)(1) == 2
    assert stepscope.input(lambda n: n + 1)(1) == 2
    assert stepscope.scope("y")(lambda n: n + 1)(1) == 2
"""


def test_without_a_library_every_mark_does_nothing(python):
    python.with_package().run(EVERY_MARK)


def test_a_library_that_is_not_in_the_process_is_not_loaded_for_marks(python, fake_library):
    python.with_package(fake_library).run(
        EVERY_MARK
        + """
    assert "libfake" not in open("/proc/self/maps").read()
    """
    )
    assert python.calls() == []


def test_a_library_that_is_too_old_is_no_library(python, tmp_path):
    old = compile_fake(tmp_path, "-Dstepscope_begin_input=renamed")
    python.environment["LD_PRELOAD"] = str(old)
    python.with_package().run(EVERY_MARK)


def test_is_recording_says_what_the_library_says(python, fake_library):
    python.with_package()
    python.environment["LD_PRELOAD"] = str(fake_library)
    python.run("import stepscope; assert stepscope.is_recording() is True")
    python.environment["STEPSCOPE_FAKE_RECORDING"] = "0"
    python.run("import stepscope; assert stepscope.is_recording() is False")


# --- the package itself --------------------------------------------------------------------------


def test_its_version_is_the_projects(python):
    project = re.search(
        r"project\(Stepscope VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text()
    ).group(1)
    assert (
        python.with_package().run("import stepscope; print(stepscope.__version__)").stdout.strip()
        == project
    )


def test_its_soname_is_the_projects(python):
    major = re.search(
        r"project\(Stepscope VERSION (\d+)", (ROOT / "CMakeLists.txt").read_text()
    ).group(1)
    code = "from stepscope import _library; print(_library.SONAMES[0])"
    assert python.with_package().run(code).stdout.strip() == f"libstepscope.so.{major}"


def test_importing_it_imports_no_torch(python):
    python.with_package().with_fake_torch("2")
    python.run("import stepscope, sys; assert 'torch' not in sys.modules")


def test_it_is_typed():
    assert (PACKAGE / "stepscope/py.typed").exists()
