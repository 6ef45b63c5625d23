"""What a wrapped Python program marks by itself: its loaders, and what the op hooks do not see."""

import shutil
import sys
import textwrap

import pytest

from pythons import FAKE_TORCHES, compile_fake

VERSIONS = pytest.mark.parametrize("version", ["1.13", "2"])


@pytest.fixture
def wrapped(python, fake_library):
    return python.wrapped(fake_library)


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


@VERSIONS
def test_optimizers_of_any_class_and_their_closures(wrapped, version):
    wrapped.with_fake_torch(version).run("""
        import torch

        class Lion(torch.optim.Optimizer):
            def step(self, closure=None): return closure() if closure else None

        class Tamer(Lion):
            pass

        assert Lion().step(lambda: 42) == 42
        assert Tamer().step() is None
        for _ in range(2): torch.optim.SGD().step()
    """)
    assert [call for call in wrapped.calls() if call.startswith("begin optimizer")] == [
        "begin optimizer Lion",
        "begin optimizer Tamer",
        "begin optimizer SGD",
        "begin optimizer SGD",
    ]
    assert wrapped.calls().count("end optimizer") == 4


@VERSIONS
@pytest.mark.parametrize("call", ["step(closure)", "step(closure=closure)"])
def test_a_closure_is_no_part_of_its_optimizer_step(wrapped, version, call):
    wrapped.with_fake_torch(version).run(f"""
        import torch

        def closure():
            optimizer.zero_grad()
            return 42

        optimizer = torch.optim.SGD()
        assert optimizer.{call} == 42
        assert torch.optim.SGD().step() is None
    """)
    closure = ["begin closure", "begin zero_grad", "end zero_grad", "end closure"]
    step = ["begin optimizer SGD", "end optimizer"]
    assert wrapped.calls()[1:] == [step[0], *closure, step[1], *step]


@VERSIONS
def test_a_closure_that_raises(wrapped, version):
    wrapped.with_fake_torch(version).run("""
        import torch
        try:
            torch.optim.SGD().step(lambda: {}["gradient"])
        except KeyError as error:
            assert error.args == ("gradient",)
    """)
    assert wrapped.calls()[1:4] == ["begin optimizer SGD", "begin closure", "end closure"]


# An optimizer of the program's that looks at its closure, calls it, and counts its own calls on it.
INSPECTING = """
    import functools, inspect, torch

    class Inspecting(torch.optim.Optimizer):
        def step(self, closure):
            self.saw = type(closure), str(inspect.signature(closure)), set(dir(closure))
            return closure()

    def bare_sight(closure):
        return type(closure), str(inspect.signature(closure)), set(dir(closure))

    optimizer = Inspecting()
"""


@VERSIONS
@pytest.mark.parametrize("call", ["step(model)", "step(closure=model)"])
def test_an_object_given_to_an_optimizer_stays_that_object(wrapped, version, call):
    """A model, or a closure with state of its own. Its attributes may be the program's code."""
    wrapped.with_fake_torch(version).run(f"""
        import torch

        class Model:
            def __call__(self):
                return 42
            def __getattr__(self, name):
                raise SystemExit(name)

        class Own(torch.optim.Optimizer):
            def step(self, closure):
                assert closure is model
                return closure()

        model = Model()
        assert Own().{call} == 42
        assert vars(model) == {{}}
    """)
    assert wrapped.calls()[1:] == ["begin optimizer Own", "end optimizer"]


@VERSIONS
@pytest.mark.parametrize(
    "closure",
    [
        "def closure(): return 42",
        "closure = lambda answer=42: answer",
        "def closure(*rest, answer: int = 42, **more): return answer",
        "class Loss:\n    def of(self): return 42\nloss = Loss()\nclosure = loss.of",
        "def pair(one, two): return one * two\nclosure = functools.partial(pair, 6, two=7)",
        "class Loss:\n    def of(self, x): return x\nclosure = functools.partial(Loss().of, 42)",
    ],
    ids=["plain", "default", "any", "method", "partial", "partial of a method"],
)
def test_an_optimizer_sees_no_difference_in_a_marked_closure(wrapped, version, closure):
    wrapped.with_fake_torch(version).run(
        INSPECTING
        + textwrap.indent(closure, "    ")
        + """
    sight = bare_sight(closure)
    for _ in range(2):
        assert optimizer.step(closure) == 42
        assert optimizer.saw == sight, (optimizer.saw, sight)
    assert bare_sight(closure) == sight
    """
    )
    step = ["begin optimizer Inspecting", "begin closure", "end closure", "end optimizer"]
    assert wrapped.calls()[1:] == step * 2


@VERSIONS
@pytest.mark.parametrize("kept_on", ["closure", "functools.partial(closure)"])
def test_attributes_of_a_closure_are_those_of_the_marked_one(wrapped, version, kept_on):
    wrapped.with_fake_torch(version).run(f"""
        import functools, torch

        class Counting(torch.optim.Optimizer):
            def step(self, closure):
                for _ in range(2):
                    closure()
                    closure.calls_by_optimizer = closure.calls
                del closure.unused

        def closure():
            given.calls += 1

        given = {kept_on}
        given.calls, given.unused = 0, None
        Counting().step(given)
        assert vars(given) == {{"calls": 2, "calls_by_optimizer": 2}}, vars(given)
        assert vars(closure) in (vars(given), {{}})
    """)
    assert wrapped.calls().count("begin closure") == 2


@VERSIONS
def test_a_closure_that_an_optimizer_passes_on_is_marked_once(wrapped, version):
    wrapped.with_fake_torch(version).run("""
        import torch

        class Lookahead(torch.optim.Optimizer):
            inner = torch.optim.SGD()
            def step(self, closure): return self.inner.step(closure)

        assert Lookahead().step(lambda: 42) == 42
    """)
    assert wrapped.calls().count("begin closure") == wrapped.calls().count("end closure") == 1


@VERSIONS
def test_a_scaler_that_skips_its_optimizer_has_stepped(wrapped, version):
    module = "cuda.amp" if version == "1.13" else "amp"
    wrapped.with_fake_torch(version).run(f"""
        import torch
        scaler = torch.{module}.GradScaler()
        assert scaler.step(torch.optim.SGD(), lambda: 42) == 42
        assert scaler.step(torch.optim.SGD(), skips=True) is None
    """)
    begin, end = "begin optimizer GradScaler", "end optimizer"
    step = ["begin optimizer SGD", "begin closure", "end closure", end]
    assert wrapped.calls()[1:] == [begin, *step, end, begin, end]


@VERSIONS
def test_an_optimizer_inside_an_optimizer(wrapped, version):
    wrapped.with_fake_torch(version).run("""
        import torch

        class Lookahead(torch.optim.Optimizer):
            inner = torch.optim.SGD()
            def step(self): self.inner.step()

        Lookahead().step()
    """)
    assert wrapped.calls()[1:] == [
        "begin optimizer Lookahead",
        "begin optimizer SGD",
        "end optimizer",
        "end optimizer",
    ]


@VERSIONS
def test_a_step_that_raises_does_so_and_the_next_one_counts(wrapped, version):
    wrapped.with_fake_torch(version).run("""
        import torch
        sgd = torch.optim.SGD()

        def fail(): raise OverflowError("nan")

        for attempt in range(2):
            try:
                sgd.step(fail)
            except OverflowError as error:
                assert error.args == ("nan",)
        sgd.step()
    """)
    calls = [call for call in wrapped.calls()[1:] if not call.endswith(" closure")]
    assert calls.count("begin optimizer SGD") == 3
    assert calls[-2:] == ["begin optimizer SGD", "end optimizer"]
    # In torch 2, no hook tells the end of one that raised: libstepscope ends it when the optimizer
    # begins another (tests/profiler/session_test.cc).
    assert calls.count("end optimizer") == (1 if version == "2" else 3)


@VERSIONS
def test_a_wrapper_of_an_optimizer_that_pytorch_does_not_know_is_none(wrapped, version):
    """accelerate's is a subclass without PyTorch's constructor. It steps only once the gradients of several
    batches are there."""
    wrapped.with_fake_torch(version).run("""
        import torch

        class Accelerated(torch.optim.Optimizer):
            def __init__(self, optimizer): self.optimizer, self.calls = optimizer, 0
            def step(self):
                self.calls += 1
                if self.calls % 2 == 0: self.optimizer.step()

        optimizer = Accelerated(torch.optim.SGD())
        for _ in range(4): optimizer.step()
    """)
    assert wrapped.calls()[1:] == ["begin optimizer SGD", "end optimizer"] * 2


@VERSIONS
def test_threads_train_side_by_side(wrapped, version):
    wrapped.with_fake_torch(version).run("""
        import threading, torch
        together = threading.Barrier(4)

        def train():
            sgd = torch.optim.SGD()
            for _ in range(25):
                sgd.step(together.wait)

        threads = [threading.Thread(target=train) for _ in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
    """)
    assert wrapped.calls().count("begin optimizer SGD") == 100
    assert wrapped.calls().count("end optimizer") == 100, "none on another thread, none garbled"


@VERSIONS
def test_the_program_may_have_the_package_too(wrapped, version):
    """Two copies of the marks in one process, and a recording that is refused: nothing is marked twice."""
    wrapped.with_package().with_fake_torch(version)
    wrapped.environment["STEPSCOPE_FAKE_ERROR"] = "a.db: not recorded: run.db is being recorded"
    done = wrapped.run(
        """
        import stepscope, torch
        from torch.utils.data.dataloader import _SingleProcessDataLoaderIter as Loader
        with stepscope.record("a.db"):
            torch.optim.SGD().step()
        from stepscope import _library, _torch
        _torch.mark_loaders(_library.attached()), _torch.mark_optimizers(_library.attached())
        torch.optim.SGD().step()
        next(Loader([1]))
    """,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert wrapped.calls().count("begin optimizer SGD") == 2
    assert wrapped.calls().count("begin input DataLoader") == 1


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


BARE_OUTPUT = {}  # of programs without Stepscope


# Once, because it takes long, and the hooks ask before they call any mark.
@pytest.mark.torch
@pytest.mark.parametrize("fake_library", ["functions"], indirect=True)
def test_a_compiled_optimizer_keeps_its_graph(python, fake_library):
    """torch.compile looks into optimizer hooks: ours must not cut the graph in pieces."""
    torch = pytest.importorskip("torch", reason="pip install torch")
    if not hasattr(torch, "compile"):
        pytest.skip("this torch has no torch.compile")
    python.options = []
    code = """
        import torch
        model = torch.nn.Linear(2, 2)
        sgd = torch.optim.SGD(model.parameters(), lr=0.1)
        model(torch.ones(1, 2)).sum().backward()
        graphs = []

        def count(graph, inputs):
            graphs.append(graph)
            return graph.forward

        torch.compile(sgd.step, backend=count)()
        print(len(graphs), sum(torch._dynamo.utils.counters["graph_break"].values()), "graph breaks")
    """
    if code not in BARE_OUTPUT:  # torch.compile takes ten seconds and more to load
        bare = python.run(code, check=False)  # warns that it ignores record_function
        assert bare.stdout.startswith("1 "), bare.stderr
        BARE_OUTPUT[code] = bare.stdout
    assert python.wrapped(fake_library).run(code, check=False).stdout == BARE_OUTPUT[code]


# --- pauses --------------------------------------------------------------------------------------


@VERSIONS
def test_a_change_of_mode_is_an_instant(wrapped, version):
    """Of the outermost module, and only where it changes: trainers call train() before each step."""
    wrapped.with_fake_torch(version).run("""
        import torch
        from torch.nn.modules.module import Module
        model = Module(Module(), Module(Module()))
        assert model.train() is model
        assert model.eval() is model and not model.children[1].children[0].training
        model.eval()
        assert model.train(True) is model and model.children[0].training
    """)
    assert wrapped.calls()[1:] == [
        "begin scope eval()",
        "end scope",
        "begin scope train()",
        "end scope",
    ]


@VERSIONS
def test_a_mode_that_is_a_property_is_not_read(wrapped, version):
    """A compiled module has such a mode. It is that of the module inside it."""
    wrapped.with_fake_torch(version).run("""
        import torch
        from torch.nn.modules.module import Module

        class Own(Module):
            def __init__(self, *children):
                self._modules = dict(enumerate(children))
                super().__init__(*children)
            @property
            def training(self):
                raise SystemExit("read")
            @training.setter
            def training(self, mode):
                for child in self._modules.values():
                    child.training = mode
            def __getattribute__(self, name):
                if name == "__dict__": raise SystemExit(name)
                return super().__getattribute__(name)

        alone = Own()
        assert alone.eval() is alone
        compiled = Own(Module(Module()))
        compiled.eval()
        compiled.eval()
        assert not compiled.children[0].children[0].training
        compiled.train()
    """)
    assert wrapped.calls()[1:] == [
        "begin scope eval()",
        "end scope",
        "begin scope train()",
        "end scope",
    ]


@VERSIONS
def test_a_mode_that_cannot_be_set_raises_as_before(wrapped, version):
    wrapped.with_fake_torch(version).run("""
        import torch
        from torch.nn.modules.module import Module

        class Frozen(Module):
            def train(self, mode=True):
                raise ValueError("frozen")
        model = Module(Frozen())
        for _ in range(2):
            try:
                model.eval()
            except ValueError as error:
                assert error.args == ("frozen",)
        Module().eval()
    """)
    assert wrapped.calls()[1:] == ["begin scope eval()", "end scope"] * 2


@VERSIONS
def test_saving_is_a_scope(wrapped, version):
    wrapped.with_fake_torch(version).run("""
        import torch
        where = []
        torch.save("weights", where)
        torch.serialization.save("more", where)
        assert where == ["weights", "more"]
        try:
            torch.save("weights", None)
        except AttributeError:
            pass
    """)
    assert wrapped.calls()[1:] == ["begin scope torch.save", "end scope"] * 3


def test_what_else_saves_tensors_may_be_imported_later(wrapped):
    package = wrapped.folder / "safetensors"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "torch.py").write_text("def save_file(tensors, path): path.append(tensors)\n")
    wrapped.with_fake_torch("2").run("""
        import sys
        import torch
        from safetensors.torch import save_file
        where = []
        save_file("weights", where)
        assert where == ["weights"]
        watched = [getattr(finder, "_name", None) for finder in sys.meta_path]
        assert "torch" not in watched and "safetensors.torch" not in watched
    """)
    assert wrapped.calls() == ["torch_loaded"] * 2 + ["begin scope torch.save", "end scope"]


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
