"""Steps and input shares from a program's own stopwatch (programs/own.py), by the documented rules for
markers (docs/attribution.md, "Steps"). Steps are (begin, end) in the program's nanoseconds, the first is number 1.
"""

import json


def read(path):
    with open(path) as file:
        return json.load(file)


def loader_steps(own, *, micro_batches=False):
    """From one wait to the next. In a program that trains, only waits that an update follows before the
    next wait; with micro_batches every wait, as each batch has a backward pass."""
    updates = own["updates"]
    # The wait that found the end counts where a batch fetched ahead is trained on after it.
    ends = [wait for wait in own["exhausted"] if updates and wait[1] < updates[-1][0]]
    waits = sorted(begin for begin, _ in own["waits"] + ends)
    begins = waits
    if updates and not micro_batches:
        begins = [
            begin
            for begin, following in zip(waits, waits[1:] + [float("inf")])
            if any(begin < update < following for update, _ in updates)
        ]
    last = updates[-1][1] if updates else own["exhausted"][-1][0]
    return list(zip(begins, begins[1:] + [last]))


def wait_steps(own):
    """From one wait to the next, the last until the wait that found the end: where the program calls step() just
    before it asks for the next batch."""
    begins = [begin for begin, _ in own["waits"]]
    return list(zip(begins, begins[1:] + [own["exhausted"][-1][0]]))


def update_steps(own):
    """From the end of one update to the end of the next; the first begins with the first thing seen."""
    ends = [end for _, end in own["updates"]]
    first = min(begin for begin, _ in own["waits"] + own["updates"])
    return list(zip([first] + ends, ends))


def input_share(own, steps, numbers):
    """The share of the steps with these numbers (from 1) that the program waited."""
    chosen = [steps[number - 1] for number in numbers]
    waits = own["waits"] + own["exhausted"]
    waited = sum(
        max(0, min(end, wait_end) - max(begin, wait_begin))
        for begin, end in chosen
        for wait_begin, wait_end in waits
    )
    return waited / sum(end - begin for begin, end in chosen)
