"""What a wrapped Python program marks of its optimizers, their closures and GradScalers."""

import textwrap

import pytest

from pythons import VERSIONS


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


# --- torch.compile -------------------------------------------------------------------------------

BARE_OUTPUT = {}  # of programs without Stepscope


# A torch that cannot be told what to trace in place of a built-in function.
WITHOUT_STAND_INS = """
        import sys
        sys.modules["_stepscope_injected._optimizers"]._SUBSTITUTE = "missing"
"""


# With the hooks that are built-in functions, and with those that are not. Each takes long.
@pytest.mark.torch
@pytest.mark.parametrize("fake_library", ["functions"], indirect=True)
@pytest.mark.parametrize("surroundings", ["", WITHOUT_STAND_INS], ids=["quick", "traceable"])
def test_a_compiled_optimizer_keeps_its_graph(python, fake_library, surroundings):
    """torch.compile looks into optimizer hooks: ours must not cut the graph in pieces."""
    torch = pytest.importorskip("torch", reason="pip install torch")
    if not hasattr(torch, "compile"):
        pytest.skip("this torch has no torch.compile")
    python.options = []
    code = """
        model = torch.nn.Linear(2, 2)
        sgd = torch.optim.SGD(model.parameters(), lr=0.1)
        model(torch.ones(1, 2)).sum().backward()
        graphs = []

        def count(graph, inputs):
            graphs.append(graph)
            return graph.forward

        def step():
            sgd.step()
            sgd.zero_grad(set_to_none=False)

        step()
        torch.compile(step, backend=count)()
        print(len(graphs), sum(torch._dynamo.utils.counters["graph_break"].values()), "graph breaks")
    """
    if code not in BARE_OUTPUT:  # torch.compile takes ten seconds and more to load
        # It warns that it ignores record_function.
        bare = python.run("        import torch\n" + code, check=False)
        assert bare.stdout.startswith("1 "), bare.stderr
        BARE_OUTPUT[code] = bare.stdout
    program = "        import torch\n" + surroundings + code
    assert python.wrapped(fake_library).run(program, check=False).stdout == BARE_OUTPUT[code]


@pytest.mark.torch
@pytest.mark.parametrize("fake_library", ["functions"], indirect=True)
@pytest.mark.parametrize("tracer", [True, False], ids=["tracer", "no-tracer"])
def test_a_program_that_records_itself_has_hooks_that_can_be_traced(python, fake_library, tracer):
    """Nobody watches its imports: a tracer that comes later could not be told of built-in functions."""
    torch = pytest.importorskip("torch", reason="pip install torch")
    if not hasattr(torch.compiler, "substitute_in_graph"):
        pytest.skip("this torch traces hooks written in Python only")
    python.options = []
    done = python.with_package(fake_library).run(f"""
        import sys, stepscope, torch
        if {tracer}:
            import torch._dynamo
        assert ("torch._dynamo" in sys.modules) == {tracer}
        with stepscope.record("a.db"):
            (hook,) = sys.modules["torch.optim.optimizer"]._global_optimizer_pre_hooks.values()
            print(type(hook).__name__)
    """)
    assert done.stdout == ("builtin_function_or_method\n" if tracer else "function\n")
