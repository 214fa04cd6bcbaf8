"""Every `grnf ...` in the README and the documents is a command that the parser accepts."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from grnf.cli.app import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
GROUP = typer.main.get_command(app)


def commands(text):
    """Yield the commands in the code blocks and in the backticks of a page."""
    blocks = re.findall(r"^```[^\n]*\n(.*?)^```", text, flags=re.M | re.S)
    blocks += re.findall(r"(?:^(?: {4}|\t)[^\n]*\n)+", text, flags=re.M)
    for line in "\n".join(blocks).replace("\\\n", " ").splitlines():
        found = re.match(r"\s*(?:\$ )?(?:[A-Z_]+=\S+ |\S.*\| )?(grnf [a-z-].*)", line)
        if found:
            yield found[1]
    for found in re.findall(r"`(grnf [a-z-][^`\n]*)`", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)):
        yield found.replace("...", "")


def pages():
    for page in PAGES:
        if not {"_build", "gallery", "reference"} & set(page.relative_to(ROOT).parts):
            for command in dict.fromkeys(commands(page.read_text())):
                yield pytest.param(command, id=f"{page.stem}: {command}")


@pytest.mark.parametrize("command", list(pages()))
def test_command_parses(command):
    words = shlex.split(re.split(r"\s[|>&]|\s2>", command)[0], comments=True)[1:]
    if len(words) == 1:  # the name of a command in a sentence
        assert words[0] in [
            "--help",
            *GROUP.commands,
            *(option for each in GROUP.params for option in each.opts),
        ]
        return
    name, child, rest = GROUP.resolve_command(GROUP.make_context("grnf", words[:1]), words)
    if "--help" not in rest:
        child.make_context(name, rest).close()
