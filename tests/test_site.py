"""The site builds without a warning, has no dead link, and works in a real browser and on a phone.

Chromium is driven by Playwright. Without it, the test is skipped after the links.
"""

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from optional import require

ROOT = Path(__file__).parents[1]
PATTERNS = ["*.html", "*/*.html", "*/generated/grnf.GR*.html"]
SEARCHES = ["GPU", "duplicates", "installation", "outlier", "prediction interval"]


def build(folder):
    require("sphinx_gallery")
    options = ["-W", "--keep-going", "-q", "-D", "plot_gallery=0", "-d", str(folder / "doctrees")]
    command = [sys.executable, "-m", "sphinx", *options, str(ROOT / "docs"), str(folder / "html")]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return folder / "html"


class Page(HTMLParser):
    """Links and anchors of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = set(), {""}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors.add(found.get("id"))
        self.links.add(found.get("href" if tag in {"a", "link"} else "src") or "")


def dead_links(site):
    pages = {path: Page(path) for path in site.rglob("*.html")}
    assert len(pages) > 150
    dead = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or "_static" in link:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchors = pages[target].anchors if target in pages else {unquote(parts.fragment)}
            if not target.exists() or unquote(parts.fragment) not in anchors:
                dead.append((path.relative_to(site).as_posix(), link))
    return dead


def problems_in(browser, site):
    """Errors of pages, and pages that are wider than a phone. All searches must find something."""
    errors = []
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.on("console", lambda message: message.type == "error" and errors.append((page.url, message.text)))
    page.on("pageerror", lambda error: errors.append((page.url, str(error))))
    wide = []
    paths = [path for pattern in PATTERNS for path in site.glob(pattern) if "_static" not in path.parts]
    for path in paths:
        page.goto(path.as_uri(), wait_until="load")
        if page.evaluate("document.documentElement.scrollWidth") > 390:
            wide.append(path.relative_to(site).as_posix())
    for words in SEARCHES:
        page.goto((site / "search.html").as_uri() + f"?q={words.replace(' ', '+')}")
        page.wait_for_selector("#search-results ul.search li a", timeout=20_000)
    context.close()
    return errors, wide


@pytest.mark.slow
def test_the_site(tmp_path, request):
    site = build(tmp_path)
    assert dead_links(site) == []
    assert problems_in(request.getfixturevalue("browser"), site) == ([], [])
