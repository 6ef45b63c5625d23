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
