"""Optional marks for Python training programs.

`stepscope run -- python train.py` needs no marks: it sees loaders, backward passes and optimizers
by itself. Marks tell it what it cannot know, such as where a hand-written reader fetches its
batches:

    import stepscope

    for batch in stepscope.input(my_reader()):      # records each wait for a batch
        stepscope.lengths(map(len, batch.texts))    # the lengths without padding
        train_step(batch)
        stepscope.step()                            # the step ends here
        if epoch_ends:
            with stepscope.scope("checkpoint"):     # a named scope
                save()

In a notebook, where nothing wraps the program, use `%load_ext stepscope` and begin a cell with
`%%stepscope`, or write

    with stepscope.record("run.db"):
        train()

The marks never raise into the program because of the profiler, never wait, and never print (except
one line if record() cannot record). If nothing is recorded, or libstepscope is not installed, every
mark does nothing. Any thread may use them.
"""

from __future__ import annotations

from typing import Any

from . import _torch
from ._marks import input, is_recording, lengths, scope, step
from ._recording import Recording, record

__version__ = "0.1.0"


def load_ipython_extension(shell: Any) -> None:
    """Called by `%load_ext stepscope`."""
    from . import _notebook  # needs IPython

    _notebook.load(shell)


__all__ = ["Recording", "input", "is_recording", "lengths", "record", "scope", "step"]
