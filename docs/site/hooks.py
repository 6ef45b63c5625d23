"""Makes the site of what is more than docs/: the pages in the root, and each source file that a page links to.

mkdocs calls the functions whose names begin with `on_`. Links are rewritten for the site; the pages themselves stay as
they are, for code hosts.
"""

import html
import pathlib
import posixpath
import re

from mkdocs.structure.files import File, Files, InclusionLevel

ROOT = pathlib.Path(__file__).resolve().parents[2]
ASSETS = ("iframe-worker.js", "site.css")
ROOT_PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
LANGUAGES = {".cc": "cpp", ".h": "cpp", ".py": "python", ".sh": "bash", ".json": "json"}
# A link or a picture of Markdown, with its target; or code, which has no links.
LINK_OR_CODE = re.compile(
    r"^ *```.*?^ *```|(!?\[(?:[^\[\]]|\[[^\]]*\])*\]\()([^)\s]+)\)|`[^`\n]+`",
    re.MULTILINE | re.DOTALL,
)
PICTURE = re.compile(r"<img\b[^>]*\bsrc=\"([^\"]+)\"[^>]*>")


def page_of(path: str) -> str | None:
    """The page of the site that a file of the tree is; None for a file that is outside of the tree or a folder."""
    if path in ROOT_PAGES:
        return ROOT_PAGES[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"source/{path}.md" if (ROOT / path).is_file() else None


def for_site(text: str, file: str) -> str:
    """The text of a page, which is at `file` in the tree, with links that lead to pages of the site."""
    here = posixpath.dirname(page_of(file) or "")

    def link(match: re.Match) -> str:
        before, target = match.groups()
        path, mark, anchor = (target or "").partition("#")
        if not path or ":" in path:
            return match[0]
        page = page_of(posixpath.normpath(posixpath.join(posixpath.dirname(file), path)))
        if page is None:  # a folder
            return before[1:-2] if (ROOT / posixpath.dirname(file) / path).is_dir() else match[0]
        return f"{before}{posixpath.relpath(page, here or '.')}{mark}{anchor})"

    return LINK_OR_CODE.sub(link, text)


def linked_sources(text: str, file: str) -> set[str]:
    """The files of the tree that a page links to and that are no pages."""
    found = set()
    for _, target in LINK_OR_CODE.findall(text):
        path = target.partition("#")[0]
        if not path or ":" in path:
            continue
        path = posixpath.normpath(posixpath.join(posixpath.dirname(file), path))
        is_page = path in ROOT_PAGES or path.startswith("docs/")
        if not is_page and (ROOT / path).is_file():
            found.add(path)
    return found


def source_page(path: str) -> str:
    language = LANGUAGES.get(pathlib.Path(path).suffix, "text")
    text = (ROOT / path).read_text(encoding="utf-8")
    # More backquotes than any in it.
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    head = f"---\ntitle: {path}\nsearch: {{exclude: true}}\nhide: [toc]\n---\n"
    return f"{head}# {path}\n\n{fence}{language}\n{text.rstrip()}\n{fence}\n"


# --- what mkdocs calls ---------------------------------------------------------------------------


def on_files(files: Files, config) -> Files:
    for name, page in ROOT_PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text("utf-8")))
    sources: set[str] = set()
    for file in files.documentation_pages():
        sources |= linked_sources(file.content_string, tree_path(file.src_uri))
    for path in sorted(sources):
        page = File.generated(config, page_of(path), content=source_page(path))
        page.inclusion = InclusionLevel.NOT_IN_NAV
        files.append(page)
    for name in ASSETS:
        asset = (ROOT / "docs/site" / name).read_text("utf-8")
        files.append(File.generated(config, f"assets/{name}", content=asset))
    return files


def tree_path(page: str) -> str:
    """The file of the tree that a page of the site is made of."""
    for name, made in ROOT_PAGES.items():
        if page == made:
            return name
    return f"docs/{page}"


def on_page_markdown(markdown: str, page, config, files) -> str:
    if page.file.src_uri.startswith("source/"):
        return markdown
    return for_site(markdown, tree_path(page.file.src_uri))


def on_page_content(content: str, page, config, files) -> str:
    """A picture is a link to itself: on a narrow screen it is smaller than its text allows."""
    return PICTURE.sub(lambda m: f'<a href="{html.escape(m[1])}">{m[0]}</a>', content)
