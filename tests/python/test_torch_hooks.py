"""What a wrapped Python program marks by itself: its loaders, and what the op hooks do not see."""

import shutil
import sys
import textwrap

import pytest

from pythons import FAKE_TORCHES, VERSIONS, compile_fake


@VERSIONS
@pytest.mark.parametrize("recorded", [False, True])
def test_marks_only_what_is_recorded(wrapped, version, recorded):
    wrapped.environment["STEPSCOPE_FAKE_TORCH"] = str(int(recorded))
    wrapped.environment["STEPSCOPE_FAKE_RANGES"] = "1"
    wrapped.with_fake_torch(version).run("""
        import torch
        from torch.utils.data.dataloader import _SingleProcessDataLoaderIter as Loader
        next(Loader([1]))
        torch.optim.SGD().step()
    """)
    marks = [
        "marks_python_ranges 1",  # the op hooks need not watch PyTorch's own ranges
        "begin input DataLoader",
        "end input",
        "begin optimizer SGD",
        "end optimizer",
    ]
    assert wrapped.calls() == ["torch_loaded"] + marks * recorded


def test_the_op_hooks_watch_for_the_loaders_of_a_torch_that_has_them_elsewhere(wrapped):
    wrapped.environment["STEPSCOPE_FAKE_RANGES"] = "1"
    torch = wrapped.folder / "torch"
    shutil.copytree(FAKE_TORCHES["2"] / "torch", torch)
    loaders = torch / "utils/data/dataloader.py"
    loaders.write_text(loaders.read_text().replace("_BaseDataLoaderIter", "_LoaderIterator"))
    wrapped.run("import torch; torch.optim.SGD().step()")
    assert wrapped.calls() == ["torch_loaded", "begin optimizer SGD", "end optimizer"]


@VERSIONS
def test_a_loader_with_workers_says_so(wrapped, version):
    wrapped.with_fake_torch(version).run("""
        import torch
        from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter as Loader

        class Own(Loader):
            pass
        next(Loader([1]))
        next(Own([1]))
    """)
    assert wrapped.calls()[1:] == ["begin input DataLoader, workers", "end input"] * 2


@VERSIONS
def test_a_loader_says_what_the_program_gave(wrapped, version):
    """And of PyTorch's defaults nothing. No property of the program's is called."""
    wrapped.with_fake_torch(version).run("""
        import torch
        from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter as Loader

        class RandomSampler:
            pass

        class Batches:
            def __init__(self):
                self.batch_size, self.sampler = 8, RandomSampler()

        class Own:
            @property
            def batch_size(self):
                raise SystemExit("called")

        loader = Loader([1, 2])
        loader._index_sampler, loader._num_workers, loader._prefetch_factor = Batches(), 2, 4
        loader._persistent_workers, loader._pin_memory = True, False
        next(loader)
        next(loader)
        loader = Loader([1])
        loader._index_sampler, loader._num_workers, loader._prefetch_factor = Own(), 1, 2
        next(loader)
    """)
    given = "DataLoader(batch_size=8, shuffle=True, num_workers=2, prefetch_factor=4, persistent_workers=True)"
    assert wrapped.calls()[1:] == (
        [f"begin input {given}", "end input"] * 2
        + ["begin input DataLoader(num_workers=1)", "end input"]
    )


def test_a_library_without_torch_loaded_is_asked_whether_it_records(python, tmp_path):
    python.wrapped(compile_fake(tmp_path, "-DWITHOUT_TORCH_LOADED")).with_fake_torch("2")
    python.run("import torch; torch.optim.SGD().step()")
    assert python.calls() == ["begin optimizer SGD", "end optimizer"]


@VERSIONS
def test_waits_of_a_loader(wrapped, version):
    wrapped.with_fake_torch(version).run("""
        import torch
        from torch.utils.data.dataloader import _SingleProcessDataLoaderIter as Loader
        assert list(Loader([1, 2])) == [1, 2]
        try:
            next(Loader([OSError("disk")]))
        except OSError as error:
            assert error.args == ("disk",)
    """)
    assert wrapped.calls()[1:] == (
        ["begin input DataLoader", "end input"] * 2
        + ["begin input DataLoader", "end input exhausted"]
        + ["begin input DataLoader", "end input"]
    )


@VERSIONS
def test_backward_is_left_to_the_interposed_symbol(wrapped, version):
    wrapped.with_fake_torch(version).run(
        "import torch; assert torch.autograd.backward('x') == 'backward of x'"
    )
    assert wrapped.calls() == ["torch_loaded"]


# --- tracebacks ----------------------------------------------------------------------------------

RAISING = {
    "next(loader)": """
        from torch.utils.data.dataloader import _SingleProcessDataLoaderIter as Loader
        loader = Loader([ValueError("bad sample")])
    """,
    "next(empty)": """
        from torch.utils.data.dataloader import _SingleProcessDataLoaderIter as Loader
        empty = Loader([])
    """,
    "sgd.step(closure)": """
        sgd = torch.optim.SGD()
        def closure():
            raise ValueError("loss is nan")
    """,
    "sgd.zero_grad(None, None)": "sgd = torch.optim.SGD()",
    "model.eval()": """
        class Frozen(torch.nn.modules.module.Module):
            def train(self, mode=True):
                raise ValueError("frozen")
        model = torch.nn.modules.module.Module(Frozen())
    """,
    "torch.save('weights', None)": "",
}


@VERSIONS
@pytest.mark.skipif(sys.version_info < (3, 11), reason="raise restores the traceback")
@pytest.mark.parametrize("call", RAISING)
def test_a_traceback_is_the_one_without_stepscope(python, fake_library, version, call):
    code = (
        "import sys, torch\n"
        + textwrap.dedent(RAISING[call])
        + textwrap.dedent(f"""
        import traceback
        try:
            try:
                1 / 0
            except ZeroDivisionError:
                {call}
        except Exception as error:
            print(repr(error), repr(error.__context__), error.__cause__)
            for frame in traceback.extract_tb(error.__traceback__):
                print(frame)
        """)
    )
    bare = python.with_fake_torch(version).run(code)
    assert "ZeroDivisionError" in bare.stdout and "program.py" in bare.stdout
    assert python.wrapped(fake_library).run(code).stdout == bare.stdout
    assert any(call.startswith("end ") for call in python.calls())


# --- a real torch --------------------------------------------------------------------------------


@pytest.mark.torch
def test_a_real_torch_is_marked(wrapped):
    pytest.importorskip("torch", reason="pip install torch")
    wrapped.options = []
    wrapped.run("""
        import torch
        from torch.utils.data import DataLoader, TensorDataset
        model = torch.nn.Linear(2, 2)
        adam = torch.optim.Adam(model.parameters())
        lbfgs = torch.optim.LBFGS(model.parameters(), max_iter=2)

        def loss():
            value = model(torch.ones(1, 2)).square().sum()
            value.backward()
            return value

        for (batch,) in DataLoader(TensorDataset(torch.ones(4, 2)), batch_size=2):
            loss()
            adam.step()
        lbfgs.step(loss)
    """)
    batch = [
        "begin input DataLoader(batch_size=2)",
        "end input",
        "begin optimizer Adam",
        "end optimizer",
    ]
    assert wrapped.calls() == (
        ["torch_loaded"]
        + batch * 2
        + ["begin input DataLoader(batch_size=2)", "end input exhausted"]
        + ["begin optimizer LBFGS", *["begin closure", "end closure"] * 2, "end optimizer"]
    )


# --- what a program can see of a wrapper ---------------------------------------------------------


@VERSIONS
def test_a_wrapper_has_the_signature_of_its_function_but_not_its_code(wrapped, version):
    """As docs/wrapping.md says."""
    wrapped.with_fake_torch(version).run("""
        import inspect, torch

        scaler = (torch.cuda if hasattr(torch, "cuda") else torch).amp.GradScaler
        module = torch.nn.modules.module.Module
        for function in (torch.save, module.train, torch.optim.SGD.zero_grad, scaler.step):
            original = function.__wrapped__
            assert inspect.signature(function) == inspect.signature(original)
            spec = inspect.getfullargspec(function)
            assert (spec.varargs, spec.varkw) == ("arguments", "named"), spec
            assert function.__code__ is not original.__code__
            assert (function.__defaults__, function.__kwdefaults__) == (None, None)
        assert module.train.__wrapped__.__defaults__ == (True,)
        assert scaler.step.__wrapped__.__kwdefaults__ == {"skips": False}
    """)


# --- pickle --------------------------------------------------------------------------------------

PICKLED = """
    import copy, pickle

    def assert_found_by_name(*functions):
        for function in functions:
            assert pickle.loads(pickle.dumps(function)) is function, function
            assert copy.copy(function) is function
"""


@VERSIONS
def test_wrapped_functions_can_be_pickled(wrapped, version):
    """As `multiprocessing` does. pickle looks for a function under its own name."""
    wrapped.with_fake_torch(version).run(
        PICKLED
        + """
    import torch
    from torch.utils.data import dataloader

    assert torch.save is torch.serialization.save
    scaler = (torch.cuda if hasattr(torch, "cuda") else torch).amp.GradScaler
    sgd = torch.optim.SGD()
    assert_found_by_name(
        torch.save,
        torch.autograd.backward,
        torch.nn.modules.module.Module.train,
        torch.optim.SGD.step,
        torch.optim.SGD.zero_grad,
        scaler.step,
        dataloader._BaseDataLoaderIter.__next__,
    )
    """
    )
    assert wrapped.calls() == ["torch_loaded"]


@VERSIONS
def test_functions_that_the_program_has_imported_can_be_pickled(python, fake_library, version):
    """Those that it imported before a recording began, while it runs, and the other way around."""
    python.with_package(fake_library).with_fake_torch(version)
    package = python.folder / "safetensors"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "torch.py").write_text("def save_file(tensors, path): pass\n")
    python.run(
        PICKLED
        + """
    import safetensors.torch, stepscope, torch
    from safetensors.torch import save_file
    from torch import save as write
    from torch.autograd import backward

    def check():
        assert write is torch.save is torch.serialization.save
        assert save_file is safetensors.torch.save_file
        assert backward is torch.autograd.backward
        assert_found_by_name(write, save_file, backward)

    bare = write, save_file, backward
    with stepscope.record("a.db"):
        check()
        from torch import save as later
        assert later is write is not bare[0]
        assert_found_by_name(later)
    check()
    assert later is write
    assert (write, save_file, backward) == bare
    """
    )
