"""Optional marks for Python training programs.

`stepscope run -- python train.py` needs none of this: it sees loaders, backward passes and optimizers by
itself. These say what it cannot know, such as where a hand-written reader fetches its batches:

    import stepscope

    for batch in stepscope.input(my_reader()):      # each wait for a batch
        stepscope.lengths(map(len, batch.texts))    # how much of it is no padding
        train_step(batch)
        stepscope.step()                            # the step ends here
        if epoch_ends:
            with stepscope.scope("checkpoint"):     # a labelled stretch
                save()

and in a notebook, where nothing wraps the program, `%load_ext stepscope` and a cell that begins with
`%%stepscope`, or

    with stepscope.record("run.db"):
        train()

Nothing here raises into the program because of the profiler, prints (but for one line when record()
cannot record), or waits. Where nothing records, or libstepscope is not there at all, every mark does
nothing. All may be used from any thread.
"""

from __future__ import annotations

from typing import Any

from . import _torch
from ._marks import input, is_recording, lengths, scope, step
from ._recording import Recording, record

__version__ = "0.1.0"


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext stepscope` calls."""
    from . import _notebook  # needs IPython

    _notebook.load(shell)


__all__ = ["Recording", "input", "is_recording", "lengths", "record", "scope", "step"]
