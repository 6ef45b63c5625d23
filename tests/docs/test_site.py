"""The documentation as a site (mkdocs.yml): it is whole, needs no other host, and its search works without a server."""

import html.parser
import os
import pathlib
import subprocess
import sys
import urllib.parse

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS) for path in DOCS.rglob("*.md"))
PICTURES = sorted(
    path.relative_to(DOCS) for path in DOCS.rglob("*") if path.suffix in (".png", ".webp")
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("material", reason="pip install mkdocs-material")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


class References(html.parser.HTMLParser):
    """What a page links to, and what it loads."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loaded = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") in ("stylesheet", "icon", "preconnect"):
            self.loaded.append(given["href"])
        elif given.get("src"):
            self.loaded.append(given["src"])


def html_of(page):
    name = page.with_name("index.html") if page.name == "README.md" else page.with_suffix(".html")
    return name.as_posix()


def references(site):
    for page in sorted(site.rglob("*.html")):
        yield page, References(page.read_text(encoding="utf-8"))


def is_elsewhere(target):
    return bool(urllib.parse.urlsplit(target).scheme or urllib.parse.urlsplit(target).netloc)


def is_there(site, page, target):
    path = urllib.parse.unquote(urllib.parse.urlsplit(target).path)
    # The page for addresses that are not there may be shown at any of them: its links begin at the root.
    file = site / path.lstrip("/") if path.startswith("/") else page.parent / path
    return not path or file.is_file() or (file / "index.html").is_file()


def test_each_page_is_in_it(site):
    pages = [html_of(page) for page in PAGES]
    pages += ["index.html", "contributing.html", "changelog.html"]
    assert [page for page in pages if not (site / page).is_file()] == []
    # The navigation, which is on each page, leads to all of them.
    links = References((site / "index.html").read_text(encoding="utf-8")).links
    assert [page for page in pages if page not in links] == []


def test_each_picture_is_on_a_page(site):
    shown = {
        (page.parent / urllib.parse.unquote(target)).resolve().relative_to(site).as_posix()
        for page, found in references(site)
        for target in found.loaded
        if not is_elsewhere(target) and not target.startswith("/")
    }
    assert [name.as_posix() for name in PICTURES if name.as_posix() not in shown] == []


def test_links_lead_to_what_is_there(site):
    broken = [
        (page.relative_to(site).as_posix(), target)
        for page, found in references(site)
        for target in found.links + found.loaded
        if not is_elsewhere(target) and not is_there(site, page, target)
    ]
    assert broken == []


def test_a_link_to_a_source_file_leads_to_a_page_of_it(site):
    story = References((site / "stories/1-input-bound.html").read_text(encoding="utf-8"))
    assert "../source/samples/cpp/mnist/train.cc.html" in story.links
    page = (site / "source/samples/cpp/mnist/train.cc.html").read_text(encoding="utf-8")
    assert "train_epoch" in page


def test_nothing_comes_from_another_host(site):
    loaded = {target for _, found in references(site) for target in found.loaded}
    assert [target for target in loaded if is_elsewhere(target)] == []


def test_a_page_that_was_opened_as_a_file_can_be_searched(site, browser):
    page = browser.new_page(viewport={"width": 400, "height": 800})
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    try:
        page.goto((site / "index.html").as_uri())
        page.click("label[for=__search].md-header__button")
        page.locator(".md-search__input").press_sequentially("prefetch")
        page.wait_for_selector(".md-search-result__item")
        found = page.locator(".md-search-result__link").first.get_attribute("href")
        assert found.startswith(site.as_uri())
        wide = "document.documentElement.scrollWidth > innerWidth"
        assert not page.evaluate(wide)
    finally:
        page.close()
    assert [url for url in asked if not url.startswith(("file:", "data:", "about:"))] == []
