"""The analysis of a recording as a card for a notebook: the verdict, where the time of a step goes,
and what would help.

Made from `stepscope analyze --json` and `stepscope report`. Names come from the recorded program,
so all text is escaped. Styles are inline, because untrusted notebooks drop style sheets.
"""

from __future__ import annotations

import html
from typing import Any, Dict, List, Optional

# The same as in the report.
_COLOURS = {
    "compute": "#2f6fdb",
    "input": "#d9343a",
    "copy": "#8a56cf",
    "communication": "#b96f00",
    "sync": "#0b857f",
    "launch": "#7d7f0c",
    "allocation": "#9a5230",
    "host": "#6b7280",
    "other": "#b03f93",
}
_LEAST_SHARE = 0.005  # smaller shares are left out of the legend
_MOST_ADVICE = 2
_MOST_REPORT = 4 << 20  # bytes; notebooks store their outputs

Document = Dict[str, Any]


def duration(ns: float) -> str:
    """Formats a duration as in the terminal: "812 ns", "12.3 µs", "4.82 ms"."""
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= 0.9995 * scale:
            value = ns / scale
            return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f} {unit}"
    return f"{ns:.0f} ns"


def headline(document: Document) -> str:
    """The verdict in capitals: "HIGHLY INPUT-BOUND"; "" if there is none."""
    verdict = document["verdict"]
    if verdict["kind"] in ("no-steps", "no-verdict"):
        return ""
    return " ".join(filter(None, (verdict["degree"], verdict["kind"]))).upper()


def advice_lines(document: Document) -> List[str]:
    """The first pieces of advice: the change, the step time it would give, and why."""
    unit = document["steps"]["unit"] if document["steps"] else "step"
    lines = []
    for advice in document["advice"][:_MOST_ADVICE]:
        if advice["saves_ns"] == 0:  # not predicted
            lines.append(f"{advice['title']}: {advice['why']}")
            continue
        likely = advice.get("likely_ns")
        spread = f", likely {duration(likely[0])} to {duration(likely[1])}" if likely else ""
        lines.append(
            f"{advice['title']}: the {unit} would take {duration(advice['predicted_step_ns'])}{spread}; {advice['why']}"
        )
    return lines


def step_line(document: Document) -> str:
    """The number of steps and how long they took; "" without steps."""
    steps = document["steps"]
    if not steps:
        return ""
    wall, unit = steps["wall_ns"], steps["unit"]
    plural = unit if steps["count"] == 1 else f"{unit}s"
    return (
        f"{steps['count']:,} {plural}, {duration(wall['mean'])} each (p50 {duration(wall['p50'])}, "
        f"max {duration(wall['max'])}) · confidence {document['verdict']['confidence']}"
    )


def card_text(document: Document) -> str:
    """The card for front ends without HTML."""
    parts = [
        f"{headline(document)}: {document['verdict']['why']}".lstrip(": "),
        step_line(document),
        *(f"would help: {line}" for line in advice_lines(document)),
    ]
    return "\n".join(part for part in parts if part)


def _shares(document: Document) -> Dict[str, float]:
    shares = document.get("shares") or {}
    return {name: shares[name] for name in _COLOURS if shares.get(name)}


def _bar(document: Document) -> str:
    shares = _shares(document)
    if not shares:
        return ""
    pieces, legend = [], []
    for name, share in shares.items():
        text = f"{name} {100 * share:.1f} %"
        pieces.append(
            f'<span title="{text}" style="flex:{share:.5f} 0 0;background:{_COLOURS[name]}"></span>'
        )
        if share >= _LEAST_SHARE:
            legend.append(
                '<span style="white-space:nowrap;margin-right:1em"><span style="display:inline-block;width:.7em;height:.7em;'
                f'border-radius:2px;background:{_COLOURS[name]}"></span> {text}</span>'
            )
    return (
        '<div role="img" aria-label="where the time of a step goes" style="display:flex;height:14px;border-radius:3px;'
        f'overflow:hidden;margin:10px 0 6px">{"".join(pieces)}</div>'
        f'<div style="font-size:90%">{"".join(legend)}</div>'
    )


def _report(page: Optional[str]) -> str:
    if page is None or len(page) > _MOST_REPORT:
        return ""
    return (
        '<details style="margin-top:8px"><summary style="cursor:pointer">The whole report</summary>'
        '<iframe sandbox="allow-scripts" loading="lazy" title="Stepscope report" style="width:100%;height:640px;'
        f'border:1px solid rgba(128,128,128,.35);margin-top:6px" srcdoc="{html.escape(page)}"></iframe></details>'
    )


def card_html(document: Document, store: str, page: Optional[str]) -> str:
    """`store`: the path to show; `page`: the output of `stepscope report`, shown on a click if it
    is small enough."""
    title = headline(document)
    good = document["verdict"]["kind"] == "compute-bound"
    colour = _COLOURS["compute" if good else "input"]
    advice = "".join(f"<li>{html.escape(line)}</li>" for line in advice_lines(document))
    return (
        '<div style="border:1px solid rgba(128,128,128,.35);border-radius:6px;padding:10px 14px;max-width:60em;line-height:1.45">'
        + (f'<strong style="color:{colour}">{html.escape(title)}</strong> ' if title else "")
        + f"<span>{html.escape(document['verdict']['why'])}</span>"
        + f'<div style="font-size:90%;opacity:.8">{html.escape(step_line(document))}</div>'
        + _bar(document)
        + (
            f'<div style="margin-top:8px">What would help:</div><ul style="margin:2px 0">{advice}</ul>'
            if advice
            else ""
        )
        + f'<div style="font-size:90%;opacity:.8;margin-top:6px">Recorded in <code>{html.escape(store)}</code></div>'
        + _report(page)
        + "</div>"
    )
