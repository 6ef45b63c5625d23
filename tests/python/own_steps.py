"""Steps and input shares from a program's own stopwatch (programs/own.py), by the documented rules for
markers (docs/attribution.md, "Steps"). Steps are (begin, end) in the program's nanoseconds, the first is number 1.
"""

import json


def read(path):
    with open(path) as file:
        return json.load(file)


def loader_steps(own):
    """From one wait to the next. In a program that trains, only waits that an update follows before the
    next wait."""
    updates = own["updates"]
    # The wait that found the end counts where a batch fetched ahead is trained on after it.
    ends = [wait for wait in own["exhausted"] if updates and wait[1] < updates[-1][0]]
    waits = sorted(begin for begin, _ in own["waits"] + ends)
    begins = waits
    if updates:
        begins = [
            begin
            for begin, following in zip(waits, waits[1:] + [float("inf")])
            if any(begin < update < following for update, _ in updates)
        ]
    last = updates[-1][1] if updates else own["exhausted"][-1][0]
    return list(zip(begins, begins[1:] + [last]))


def accumulated_steps(own):
    """From the first wait after an update to the first wait after the next."""
    ends = [end for _, end in own["updates"]]
    waits = sorted(
        begin for begin, end in own["waits"] + own["exhausted"] if end < own["updates"][-1][0]
    )
    begins = [waits[0]] + [next(wait for wait in waits if wait > end) for end in ends[:-1]]
    return list(zip(begins, begins[1:] + ends[-1:]))


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
    chosen = outside_segments(own, [steps[number - 1] for number in numbers])
    waits = own["waits"] + own["exhausted"] + own.get("untrained", [])
    return time_in(waits, chosen) / length_of(chosen)


def segments(own):
    """What the program did that is no training: {name: [[begin, end], …]}. Between two epochs is what lies between the
    wait that found the end and the next wait, unless a batch that was fetched ahead is trained on there."""
    found = {name: list(times) for name, times in own.get("segments", {}).items()}
    waits, updates = own["waits"], [begin for begin, _ in own["updates"]]
    for begin, end in own["exhausted"]:
        following = min((wait for wait, _ in waits if wait > end), default=None)
        if following is None or any(end < update < following for update in updates):
            continue
        if any(update < begin for update in updates):
            found.setdefault("between_epochs", []).append([begin, following])
    return found


def outside_segments(own, steps):
    """The parts of the steps in which the program trained."""
    for times in segments(own).values():
        for begin, end in times:
            steps = [
                part
                for start, stop in steps
                for part in ((start, min(stop, begin)), (max(start, end), stop))
                if part[0] < part[1]
            ]
    return steps


def phase_means(own, steps, numbers):
    """The mean time of the steps with these numbers in each phase, as the program timed it: {name: ns}. What lies inside
    an update (a closure) is not the update's."""
    chosen = outside_segments(own, [steps[number - 1] for number in numbers])
    phases = {name: time_in(times, chosen) for name, times in own["phases"].items()}
    inside = sum(
        time_in([(a, b) for a, b in times if begin <= a and b <= end], chosen)
        for begin, end in own["updates"]
        for times in own["phases"].values()
    )
    phases["optimizer"] = time_in(own["updates"], chosen) - inside
    return {name: time / len(numbers) for name, time in phases.items()}


def time_in(intervals, steps):
    return sum(
        max(0, min(end, other_end) - max(begin, other_begin))
        for begin, end in steps
        for other_begin, other_end in intervals
    )


def length_of(steps):
    return sum(end - begin for begin, end in steps)
