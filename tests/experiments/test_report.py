"""The report: everything inside one file."""

import base64
import re
from html.parser import HTMLParser

from grnf.experiments import EXPERIMENTS
from grnf.experiments.report import Section, page
from grnf.experiments.study import Table
from guests import guest

VOID = {"meta", "img", "br"}


class Checker(HTMLParser):
    """Checks that tags are closed in order, and collects what is loaded."""

    def __init__(self):
        super().__init__()
        self.open, self.sources, self.links = [], [], []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.sources += [values["src"]] if "src" in values else []
        self.links += [values["href"]] if "href" in values else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def check_report(text):
    """Return the pictures of a report that loads nothing."""
    checker = Checker()
    checker.feed(text)
    assert checker.open == []
    assert all(link.startswith(("#", "maps/")) for link in checker.links)
    assert all(source.startswith("data:image/png;base64,") for source in checker.sources)
    assert not re.search(r"https?://|@import|url\(", text)
    return [base64.b64decode(source.split(",")[1]) for source in checker.sources]


def test_page():
    section = Section(
        "x", "Title <1>", "About & all.", b"\x89PNG picture", [Table("t", ["a"], [["<b>"]])], 3.2
    )
    text = page([section, section], {"seed": 0, "quick": True}, {"grnf": "0.1"}, {"A <set>": "maps/a.html"})
    assert check_report(text) == [b"\x89PNG picture"] * 2
    assert "Title &lt;1&gt;" in text
    assert "&lt;b&gt;" in text
    assert "quick run" in text
    assert '<a href="maps/a.html">A &lt;set&gt;</a>' in text
    assert "Time of all: 6 s" in text


def test_reproduce_all(run, tmp_path):
    guest("matplotlib")
    guest("networkx")
    data = tmp_path / "data"
    sets = (
        f"import pathlib, brec_files, tu_sets; data = pathlib.Path({str(data)!r}); "
        "tu_sets.install(data, 'ENZYMES', 'IMDB-BINARY'); brec_files.install(data)"
    )
    result = run("reproduce", "all", "--quick", "--data", data, "-o", tmp_path, first=sets)
    assert result.returncode == 0, result.stderr
    report = (tmp_path / "report.html").read_text()
    pictures = check_report(report)
    assert len(pictures) == len(EXPERIMENTS)
    for name in ("SBM", "Delaunay", "ENZYMES", "IMDB-BINARY"):
        assert f'href="maps/{name}-0-quick.html"' in report
        assert (tmp_path / "maps" / f"{name}-0-quick.html").read_text().startswith("<!doctype html>")
    for name in EXPERIMENTS:
        assert (tmp_path / f"{name}.json").is_file()
        assert f"{name}: " in result.stderr
        assert (tmp_path / f"{name}.png").read_bytes() in pictures
