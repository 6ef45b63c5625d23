"""How tests look at a report in a browser."""

import re


def pages_of(page):
    return [link.get_attribute("href")[1:] for link in page.query_selector_all("nav a")]


def go_to(page, name):
    page.evaluate("name => { location.hash = name; }", name)
    page.wait_for_function(
        "name => document.querySelector(`nav a[aria-current]`).hash === '#' + name",
        arg=name.split("=")[0],
    )


def text_of(page):
    return page.inner_text("main")


def luminance(colour):
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    parts = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(a, b):
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def three_digits(value):
    return (
        f"{value:.2f}"
        if abs(value) < 9.995
        else f"{value:.1f}"
        if abs(value) < 99.95
        else f"{value:.0f}"
    )


def as_time(ns):
    for limit, unit, name in ((999.5e3, 1e3, "µs"), (999.5e6, 1e6, "ms"), (float("inf"), 1e9, "s")):
        if abs(ns) < 999.5:
            return f"{ns:.0f} ns"
        if abs(ns) < limit:
            return f"{three_digits(ns / unit)} {name}"


def as_percent(share):
    return "< 0.1 %" if 0 < share < 0.0005 else f"{100 * share:.1f} %"
