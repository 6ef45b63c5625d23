"""What is logged into trackers, and when: without a tracker, an endpoint or torch."""

import os
import threading

import pytest

import pythons

PAGE = """\
# TYPE stepscope_steps_total counter
stepscope_steps_total{job="a \\"b\\", pid=\\"7\\"",pid="42",host="h"} 30
stepscope_steps_total{pid="42",host="h",thread="43"} 10
stepscope_steps_total{pid="41",host="h"} 99
stepscope_input_ratio{job="a \\"b\\", pid=\\"7\\"",pid="42",host="h"} 0.25
stepscope_input_ratio{pid="42",host="h",thread="43"} 0.5
stepscope_input_ratio{pid="41",host="h"} 0.75
stepscope_step_p50_seconds{job="a \\"b\\", pid=\\"7\\"",pid="42",host="h"} 1.5e-03
stepscope_category_seconds_total{job="a \\"b\\", pid=\\"7\\"",pid="42",host="h",category="input"} 3
stepscope_window_steps{job="a \\"b\\", pid=\\"7\\"",pid="42",host="h"} 8
stepscope_verdict{job="a \\"b\\", pid=\\"7\\"",pid="42",host="h",kind="input-bound",degree="highly"} 1
stepscope_lost_events_total{host="h"} 0
"""


@pytest.fixture
def live_figures(monkeypatch):
    monkeypatch.syspath_prepend(pythons.PACKAGE)
    from stepscope import _live_figures

    return _live_figures


@pytest.fixture
def trackers(live_figures):
    from stepscope import _trackers

    return _trackers


@pytest.fixture
def make_publisher(trackers, live_figures):
    """One that reads figures of one more step each time."""

    def make(interval_s=0.01):
        count = iter(range(1, 10**9))
        return trackers.Publisher(
            lambda: live_figures.Figures(next(count), {"input_ratio": 0.5}, ""), interval_s
        )

    return make


class Tracker:
    def __init__(self, fails=0):
        self.got, self.closed, self.several = [], threading.Event(), threading.Event()
        self._fails = fails

    def log(self, figures):
        self._fails -= 1
        if self._fails >= 0:
            raise OSError("not now")
        self.got.append(figures.steps)
        if len(self.got) > 2:
            self.several.set()

    def close(self):
        self.closed.set()


def test_the_figures_are_those_of_the_own_loop_with_most_steps(live_figures):
    figures = live_figures.figures_of(PAGE, 42)
    assert (figures.steps, figures.verdict) == (30, "input-bound")
    assert figures.values == {"input_ratio": 0.25, "step_p50_seconds": 0.0015}


@pytest.mark.parametrize("page", ["", PAGE, 'stepscope_steps_total{pid="40"} 0\n'])
def test_without_steps_there_are_none(live_figures, page):
    assert live_figures.figures_of(page, 40) is None


def test_a_tracker_gets_figures_until_it_is_finished(make_publisher):
    publisher, tracker = make_publisher(), Tracker()
    publisher.add(("a", "1"), lambda: tracker)
    publisher.add(("a", "1"), lambda: pytest.fail("it is known"))
    assert tracker.several.wait(60)
    publisher.finish(("a", "1"))
    assert tracker.closed.is_set()
    count = len(tracker.got)
    other = Tracker()
    publisher.add(("a", "2"), lambda: other)
    assert other.several.wait(60)
    assert len(tracker.got) == count
    assert tracker.got == sorted(set(tracker.got))


def test_the_end_of_a_run_logs_what_has_come_since(make_publisher):
    publisher, tracker = make_publisher(interval_s=3600), Tracker()
    publisher.add(("a", "1"), lambda: tracker)
    publisher.finish(("a", "1"))
    assert len(tracker.got) == 1
    publisher.finish(("a", "1"))
    assert len(tracker.got) == 1


def test_a_tracker_that_fails_keeps_the_others_waiting_for_nothing(make_publisher):
    publisher, failing, other = make_publisher(), Tracker(fails=3), Tracker()
    publisher.add(("broken", ""), lambda: 1 / 0)
    publisher.add(("failing", ""), lambda: failing)
    publisher.add(("other", ""), lambda: other)
    assert other.several.wait(60) and failing.several.wait(60)
    publisher.finish(("broken", ""))


def test_a_tracker_that_does_not_answer_does_not_hold_up_the_end(
    make_publisher, trackers, monkeypatch
):
    monkeypatch.setattr(trackers, "_LAST_WAIT_S", 0.1)
    publisher, called, answer = make_publisher(), threading.Event(), threading.Event()

    class Stuck(Tracker):
        def log(self, figures):
            called.set()
            answer.wait(60)

    stuck = Stuck()
    publisher.add(("stuck", ""), lambda: stuck)
    assert called.wait(60)
    publisher.finish(("stuck", ""))
    assert not stuck.closed.is_set(), "it returned while the tracker did not answer"
    answer.set()
    assert stuck.closed.wait(60)


def test_runs_that_never_end_are_bounded(make_publisher, trackers):
    publisher, first = make_publisher(interval_s=3600), Tracker()
    publisher.add(("run", "first"), lambda: first)
    for number in range(trackers._MAX_TRACKERS):
        publisher.add(("run", str(number)), Tracker)
    assert first.closed.wait(60)


def test_a_forked_process_has_a_publisher_of_its_own(trackers, monkeypatch):
    monkeypatch.setattr(trackers, "_publishers", {})
    monkeypatch.setenv(trackers.URL, "http://127.0.0.1:9/metrics")
    ours = trackers._publisher()
    assert trackers._publisher() is ours
    monkeypatch.setattr(os, "getpid", lambda: 1)
    assert trackers._publisher() is not ours


@pytest.mark.parametrize(
    "variables, wanted",
    [
        ({}, False),
        ({"STEPSCOPE_METRICS_URL": "http://h/metrics"}, True),
        ({"STEPSCOPE_METRICS_URL": "http://h/metrics", "STEPSCOPE_TRACKERS": "off"}, False),
    ],
)
def test_when_trackers_are_followed(trackers, monkeypatch, variables, wanted):
    for name in ("STEPSCOPE_METRICS_URL", "STEPSCOPE_TRACKERS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert trackers.is_wanted() == wanted
