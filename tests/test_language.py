"""The language of the documents, the help, the errors and the docstrings: patterns that are not English.

`python tests/test_language.py` prints how often each occurs, and the sentence lengths of the documents.
"""

import ast
import io
import re
import tokenize
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "grnf"

PATTERNS = {
    "1 is wanted": r"\b(is|are|was|were) wanted\b|\bwants?\b",
    "2 is no X": r"(?<!there )\b(is|are|was|were) no (?!longer\b|more\b|\d)\w+|\bno valid\b",
    "3 say": r"\b(say|says|said)\b",
    "4 beside": r"\bbeside\b",
    "5 where": r"\bwhere\b",
    "6 private nouns": r"(?<!self-)(?<!grnf\.)(?<!=)\b(doors?|colours?|laws?|machines?|recipes?|loops?)\b"
    r"|\b(twigs?|honesty|rooms?|guests?)\b",
    "7 semicolons": r";",
    "8 in place of": r"\bin place of\b|\btakes? (its|their) place\b|\bin (its|their) place\b",
    "9 go on, anew": r"\b(go|goes|going|went) on\b|\banew\b|\bafresh\b",
    "10 as it is": r"\bas (it is|they are)\b|\b(that|what) is there\b|\bwhat there is\b",
    "11 as 1, one a": r"\b(such )?as \d|\b(one|MB|GB|seconds?|numbers?|rows?) an? (line|row|graph|node)\b",
    "12 of one X": r"\bof one \w+|\b(pipeline|graph|object|table)s? of (scikit-learn|networkx|SMILES)\b",
}


KINDS = ("docs", "help", "errors", "messages", "docstrings")


def documents():
    """Yield the prose of the manual, without code."""
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        if not {"_build", "gallery", "reference"} & set(path.relative_to(ROOT).parts):
            text = re.sub(r"^(```|````)(?!.*math).*?^\1`*$", "", path.read_text(), flags=re.M | re.S)
            text = re.sub(r"^(?: {4}|\t).*$", "", text, flags=re.M)
            yield path, re.sub(r"`[^`\n]*`|<!--.*?-->|\$[^$]*\$", "`code`", text, flags=re.S)


def literal(node):
    """Return the text of a string, of an f-string without its values, or of such strings added up."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(literal(part) for part in node.values)
    if isinstance(node, ast.BinOp):
        return literal(node.left) + literal(node.right)
    return "{}" if isinstance(node, ast.FormattedValue) else ""


@cache
def nodes_of_source():
    """Return (path, node of its syntax tree) of the package."""
    files = sorted(SOURCE.rglob("*.py"))
    return [(path, node) for path in files for node in ast.walk(ast.parse(path.read_text()))]


def texts():
    """Yield (kind, path, text) of everything that users and readers of the code see.

    The kind "messages" has warnings, notes, reasons of bad graphs, and other texts of a sentence's length.
    """
    for path, text in documents():
        yield "docs", path, text
    seen = set()
    for path, node in nodes_of_source():
        in_cli = path.relative_to(SOURCE).parts[0] == "cli"
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            parts = [*node.exc.args, *(keyword.value for keyword in node.exc.keywords)]
            seen.update(inner for part in parts for inner in ast.walk(part))
            message = " ".join(filter(None, map(literal, parts)))
            if message:
                yield "errors", path, message
        elif isinstance(node, ast.Call) and in_cli:
            for keyword in node.keywords:
                if keyword.arg == "help":
                    seen |= {*ast.walk(keyword.value)}
                    yield "help", path, literal(keyword.value)
        elif isinstance(node, ast.Subscript) and in_cli and ast.unparse(node.value) == "Annotated":
            for note in filter(literal, node.slice.elts):
                seen |= {*ast.walk(note)}
                yield "help", path, literal(note)
        elif isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            text = re.sub(r"^\s*(>>>|\.\.\.).*$", "", ast.get_docstring(node), flags=re.M)
            yield "help" if in_cli else "docstrings", path, text
        elif isinstance(node, ast.Expr):  # the docstring of a constant, too
            seen |= {node.value}
        elif isinstance(node, (ast.Constant, ast.JoinedStr)) and node not in seen:
            seen |= {*ast.walk(node)}
            if re.search(r"[a-z]+ [a-z]+ [a-z]+", literal(node)) and not re.search(r"[<>\n]", literal(node)):
                yield "messages", path, literal(node)


def comments():
    """Yield (path, comment) of the package, and (path, comment or docstring) of the other programs."""
    for folder in ("src", "benchmarks", "experiments", "examples"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            source = path.read_text()
            for token in tokenize.generate_tokens(io.StringIO(source).readline):
                if token.type == tokenize.COMMENT:
                    yield path, token.string
            if folder != "src":
                for node in ast.walk(ast.parse(source)):
                    if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                        yield path, ast.get_docstring(node) or ""


def counts():
    """Return how often each pattern occurs in each kind of text."""
    found = {name: dict.fromkeys(KINDS, 0) for name in PATTERNS}
    for kind, _, text in texts():
        for name, pattern in PATTERNS.items():
            found[name][kind] += len(re.findall(pattern, text, flags=re.I))
    return found


def sentences():
    """Yield the number of words of each sentence of the documents, tables and headings left out."""
    for path, text in documents():
        prose = re.sub(r"^(\||#|:::|!\[|- \[).*$", "", text, flags=re.M)
        for paragraph in re.split(r"\n\s*\n|^\s*(?:[-*]|\d+\.) ", prose, flags=re.M):
            for sentence in re.split(r"(?<=[.!?:])\s+", " ".join(paragraph.split())):
                words = re.findall(r"[\w`'%.,-]*\w[\w`'%.,-]*", sentence)
                if len(words) >= 3:
                    yield len(words), path, sentence


MOST = {
    "5 where": {"docs": 2, "messages": 1, "docstrings": 45},
    "6 private nouns": {"docs": 2, "messages": 3, "docstrings": 41},
    "7 semicolons": {"docs": 93, "messages": 14, "docstrings": 117},
    "12 of one X": {"messages": 1},
}
"""What is left: relative clauses, computers, cells of tables, formulas. Lower these, never raise them."""


def test_errors_help_and_docstrings_are_english():
    for name, found in counts().items():
        assert found["errors"] == found["help"] == 0, name
        assert found["docs"] <= MOST.get(name, {}).get("docs", 0), name
        assert found["messages"] <= MOST.get(name, {}).get("messages", 0), name
        assert found["docstrings"] <= MOST.get(name, {}).get("docstrings", 5), name


def test_comments_are_english():
    rare = [name for name in PATTERNS if name.split()[0] in ("1", "3", "4", "8", "9", "10")]
    found = [
        (str(path.relative_to(ROOT)), text)
        for path, text in comments()
        if re.search("|".join([*map(PATTERNS.get, rare), "colour|neighbour"]), text, flags=re.I)
    ]
    assert not found


def test_errors_about_arguments_are_made_by_one_helper():
    """`grnf.errors.invalid` and the rules make them: name, requirement, what was found, cure."""
    raw = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path, node in nodes_of_source()
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args
        if getattr(node.exc.func, "id", "") in ("ValueError", "TypeError")
    ]
    assert len(raw) <= 36, raw  # lower it, never raise it


def test_prose_of_the_documents_has_no_semicolons():
    for path, text in documents():
        prose = re.sub(r"^\|.*$|``.*?``|`code`.*?`code`", "", text, flags=re.M)
        assert ";" not in prose, path


def test_sentences_of_the_documents_are_short():
    lengths = [length for length, _, _ in sentences()]
    assert sum(lengths) / len(lengths) <= 18
    assert max(lengths) <= 35


if __name__ == "__main__":
    for name, row in counts().items():
        print(f"{name:<16}", *(f"{kind} {number:<5}" for kind, number in row.items()))  # noqa: T201
    lengths = [length for length, _, _ in sentences()]
    print(f"sentences: mean {sum(lengths) / len(lengths):.1f} words, {sum(n > 35 for n in lengths)} above 35")  # noqa: T201
