"""The words of the card below a notebook's cell."""

import importlib.util
import pathlib

SOURCE = pathlib.Path(__file__).parents[2] / "profiler/python/stepscope/_card.py"


def card():
    spec = importlib.util.spec_from_file_location("stepscope_card", SOURCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def advice(**more):
    return {"title": "cache the samples", "why": "they are decoded anew", "likely_ns": None, **more}


def test_advice_names_the_step_that_it_predicts():
    document = {
        "steps": {"unit": "step"},
        "advice": [
            advice(
                predicted_step_ns=4_000_000, saves_ns=1_000_000, likely_ns=[3_000_000, 5_000_000]
            ),
            advice(predicted_step_ns=5_000_000, saves_ns=0),
        ],
    }
    assert card().advice_lines(document) == [
        "cache the samples: the step would take 4.00 ms, likely 3.00 ms to 5.00 ms; they are decoded anew",
        "cache the samples: they are decoded anew",
    ]
