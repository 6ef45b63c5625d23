"""What a wrapped Python program marks of the pauses between steps: changes of the mode, and saving."""

from pythons import VERSIONS


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
