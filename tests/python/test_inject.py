"""inject/sitecustomize.py: it tells of torch, and cannot be noticed otherwise."""

import textwrap

import pytest

from pythons import FAKE_TORCHES, INJECT

STATE = """
    import sys
    print(sorted(sys.modules))
    print([type(finder).__name__ for finder in sys.meta_path])
    print(sys.path)
    print(sorted(sys.path_importer_cache))
"""


def test_a_program_without_torch_sees_the_same_interpreter(python, fake_library):
    bare = python.run(STATE).stdout.splitlines()
    wrapped = python.wrapped(fake_library).run(STATE).stdout.splitlines()
    assert wrapped[0] == bare[0], "modules: nothing imported, no sitecustomize left"
    assert (
        wrapped[1].replace("'_ImportWatch', ", "").replace(", '_StepscopePackage'", "") == bare[1]
    )
    assert wrapped[2] == bare[2], "sys.path"
    assert wrapped[3] == bare[3]
    assert python.calls() == []


def test_without_the_wrapper_it_does_nothing(python, fake_library):
    python.with_fake_torch("2").wrapped(fake_library)
    del python.environment["STEPSCOPE_SOCKET"]
    python.run(
        "import sys, torch; assert not any('Watch' in type(f).__name__ for f in sys.meta_path)"
    )
    python.run("import sys; assert not any('Stepscope' in type(f).__name__ for f in sys.meta_path)")
    assert python.calls() == []


def test_the_marks_can_be_imported_where_nobody_installed_them(python, fake_library):
    python.wrapped(fake_library)
    python.run("import stepscope; assert 'step' in stepscope.__all__; import stepscope._marks")


def test_a_module_stepscope_of_the_programs_own_comes_first(python, fake_library):
    python.wrapped(fake_library)
    (python.folder / "stepscope.py").write_text("mine = True")
    python.run(
        "import sys; sys.path.insert(0, %r); import stepscope; assert stepscope.mine"
        % str(python.folder)
    )


def test_tells_once_that_torch_is_there(python, fake_library):
    python.with_fake_torch("2").wrapped(fake_library)
    python.run("""
        import json, torch, torch.optim, sys
        assert not any(getattr(finder, "_name", "") == "torch" for finder in sys.meta_path)
        assert type(torch.__loader__).__name__ == "SourceFileLoader"
        assert "exec_module" not in vars(torch.__loader__)
        assert "stepscope" not in sys.modules
        import importlib
        importlib.reload(torch)
    """)
    assert python.calls() == ["torch_loaded"]


def test_a_torch_that_cannot_be_imported_fails_as_it_would(python, fake_library):
    python.with_fake_torch("2")
    python.environment["FAKE_TORCH_FAILS"] = "1"
    code = """
        import os, sys, traceback
        for attempt in range(2):
            try:
                import torch
            except ImportError as error:
                print(type(error), error, error.name)
                if sys.version_info >= (3, 11):  # before, `raise` restores the traceback
                    traceback.print_exc(file=sys.stdout)
        del os.environ["FAKE_TORCH_FAILS"]
        import torch
        print(torch.optim)
    """
    bare = python.run(code)
    wrapped = python.wrapped(fake_library).run(code)
    assert wrapped.stdout == bare.stdout
    assert python.calls() == ["torch_loaded"], "the import that succeeded"


def test_a_program_whose_torch_is_missing(python, fake_library):
    code = """
        import sys
        sys.path[:] = [entry for entry in sys.path if "site-packages" not in entry]
        try:
            import torch
        except ImportError as error:
            print(repr(error), error.name, error.path)
    """
    bare = python.run(code)
    assert "No module named" in bare.stdout
    assert python.wrapped(fake_library).run(code).stdout == bare.stdout


# --- the program's own sitecustomize -------------------------------------------------------------


def own_sitecustomize(python, code):
    folder = python.folder / "own"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(textwrap.dedent(code))
    python.path.append(folder)


def test_the_programs_own_sitecustomize_runs(python, fake_library):
    own_sitecustomize(
        python, "import sys; sys.own_ran = getattr(sys, 'own_ran', 0) + 1; SETTING = 42"
    )
    code = """
        import sys
        import sitecustomize
        print(sys.own_ran, sitecustomize.SETTING, sitecustomize.__file__, sitecustomize.__name__)
        print(sys.modules["sitecustomize"] is sitecustomize, sitecustomize.__spec__.origin)
    """
    bare = python.run(code)
    assert bare.stdout.startswith("1 42")
    assert python.wrapped(fake_library).run(code).stdout == bare.stdout


def test_its_own_may_import_torch(python, fake_library):
    own_sitecustomize(python, "import torch")
    python.with_fake_torch("2").wrapped(fake_library).run("pass")
    assert python.calls() == ["torch_loaded"]


@pytest.mark.parametrize(
    "failure", ["raise ValueError('oh')", "import not_there", "raise ImportError('x')"]
)
def test_its_failure_is_reported_as_ever(python, fake_library, failure):
    own_sitecustomize(python, failure)
    code = "import sys; print('ran', 'sitecustomize' in sys.modules)"
    bare = python.run(code, check=False)
    wrapped = python.wrapped(fake_library).run(code, check=False)
    said = ("stdout", "stderr", "returncode")
    assert [getattr(wrapped, name) for name in said] == [getattr(bare, name) for name in said]


def test_its_exit_is_an_exit(python, fake_library):
    own_sitecustomize(python, "raise SystemExit(7)")
    bare = python.run("pass", check=False)
    wrapped = python.wrapped(fake_library).run("pass", check=False)
    assert (wrapped.returncode, wrapped.stdout) == (bare.returncode, bare.stdout)


def test_importing_a_missing_one_fails_as_ever(python, fake_library):
    code = """
        try:
            import sitecustomize
        except ImportError as error:
            print(repr(error), error.name)
    """
    assert python.wrapped(fake_library).run(code).stdout == python.run(code).stdout


# --- ways to start a Python ----------------------------------------------------------------------


@pytest.mark.parametrize("option", ["-I", "-E", "-S"])
def test_an_isolated_python_is_left_alone(python, fake_library, option):
    python.wrapped(fake_library)
    python.options = [option]
    python.run("import sys; assert not any('Watch' in type(f).__name__ for f in sys.meta_path)")
    assert python.calls() == []


@pytest.mark.parametrize("start", ["subprocess", "spawn", "exec"])
def test_children_are_told_too(python, fake_library, start):
    python.with_fake_torch("2").wrapped(fake_library)
    python.run(f"""
        import multiprocessing, os, subprocess, sys

        def work():
            import torch

        if __name__ == "__main__":
            if "{start}" == "spawn":
                process = multiprocessing.get_context("spawn").Process(target=work)
                process.start()
                process.join()
                assert process.exitcode == 0
            elif "{start}" == "subprocess":
                subprocess.run([sys.executable, "-c", "import torch"], check=True)
            else:
                os.execv(sys.executable, [sys.executable, "-c", "import torch"])
    """)
    assert python.calls() == ["torch_loaded"]


def test_a_forked_child_imports_torch(python, fake_library):
    python.with_fake_torch("2").wrapped(fake_library)
    python.run("""
        import os
        child = os.fork()
        if child == 0:
            import torch
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    """)
    assert python.calls() == ["torch_loaded"]


def test_a_package_that_does_not_load_is_no_harm(python, tmp_path):
    """No library, and a folder beside it that holds nonsense."""
    copy = tmp_path / "copy"
    (copy / "inject").mkdir(parents=True)
    (copy / "stepscope").mkdir()
    (copy / "inject/sitecustomize.py").write_bytes((INJECT / "sitecustomize.py").read_bytes())
    (copy / "stepscope/__init__.py").write_text("raise SystemError('broken')")
    python.path = [copy / "inject", FAKE_TORCHES["2"]]
    python.environment["STEPSCOPE_SOCKET"] = "/nowhere"
    assert python.run("import torch; print(torch.optim)").stdout


def test_the_file_parses_in_any_python():
    """No f-strings, annotations or keyword-only arguments: an old Python must not stumble over it."""
    import ast

    tree = ast.parse((INJECT / "sitecustomize.py").read_text())
    too_new = (ast.JoinedStr, ast.AnnAssign, ast.NamedExpr, ast.AsyncFunctionDef, ast.Nonlocal)
    assert not [node for node in ast.walk(tree) if isinstance(node, too_new)]
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            assert node.returns is None
            assert not node.args.kwonlyargs
            assert not any(argument.annotation for argument in node.args.args)
        if isinstance(node, ast.Raise):
            assert node.cause is None
