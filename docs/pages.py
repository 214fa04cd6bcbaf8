"""The documents of the project, and the places in them that commands fill with what they measured."""

from pathlib import Path

ROOT = Path(__file__).parents[1]


def pages():
    """README and all pages of the site that are written by hand."""
    found = (page for page in (ROOT / "docs").rglob("*.md") if not {"_build", "generated"} & set(page.parts))
    return [ROOT / "README.md", *sorted(found)]


def text():
    """All documents, one after the other."""
    return "\n".join(page.read_text() for page in pages())


def fill(place, body):
    """Write text between the marks `<!-- PLACE: begin -->` and `<!-- PLACE: end -->`, wherever they stand."""
    start, end = f"<!-- {place}: begin -->", f"<!-- {place}: end -->"
    found = [page for page in pages() if start in page.read_text()]
    if not found:
        raise ValueError(f"no page of the documentation has the mark {start}")
    for page in found:
        before, rest = page.read_text().split(start)
        page.write_text(f"{before}{start}\n{body}\n{end}{rest.split(end)[1]}")
