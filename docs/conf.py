"""Settings of the site: `make docs` builds it without a network."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import reference_pages
from docutils import nodes

from grnf import __version__

project, author, version, release = "grnf", "The grnf developers", __version__, __version__
copyright = "The grnf developers"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "gallery/**/*.ipynb", "gallery/**/*.py", "gallery/**/*.zip"]
suppress_warnings = ["config.cache", "myst.xref_missing"]

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
autodoc_preserve_defaults = True
maximum_signature_line_length = 90
numpydoc_show_class_members = False
templates_path = ["_templates"]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
numpydoc_validation_checks = set()


def gallery_style(gallery_conf, name):
    """Give the examples the style of all other figures."""
    from cycler import cycler
    from matplotlib import rcParams

    from grnf.maps.figures import COLORS

    rcParams.update(
        {"axes.prop_cycle": cycler(color=COLORS), "axes.spines.top": False, "axes.spines.right": False}
    )
    rcParams.update({"axes.grid": True, "grid.color": "#dddddd", "axes.axisbelow": True})


sphinx_gallery_conf = {
    "reset_modules": ("matplotlib", gallery_style),
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1,
    "write_computation_times": False,  # its page would load scripts from the network
}

html_theme = "pydata_sphinx_theme"
html_title = "grnf"
html_context = {"default_mode": "auto"}
html_static_path = ["_static"]
html_css_files = ["site.css"]
ALONE = "index install tutorial faq comparison glossary citation release_notes changelog"
html_sidebars = {page: [] for page in ALONE.split()}  # pages without pages below them
html_show_sourcelink = False
html_show_search_summary = False  # from disk, browsers refuse to fetch it
html_theme_options = {
    "show_prev_next": True,
    "header_links_before_dropdown": 8,
    "navigation_with_keys": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}

reference_pages.write(Path(__file__).parent / "reference")


FORMULAS = (
    (r"\\\|z\(g1\) - z\(g2\)\\\|\^2", lambda _: r"|z(g_1) - z(g_2)|^2"),
    (r"z\(g1\) \. z\(g2\)", lambda _: r"z(g_1) \cdot z(g_2)"),
    (r"d_P\(g1, g2\)\^2", lambda _: "d_P(g_1, g_2)^2"),
    (r"d_P\(g1, g2\)", lambda _: "d_P(g_1, g_2)"),
    (r"psi\(g; w_(\w)\)", lambda found: rf"\psi(g; w_{found[1]})"),
    (r"psi\(g([12]); w_(\w)\)", lambda found: rf"\psi(g_{found[1]}; w_{found[2]})"),
    (r"z\(g\)", lambda _: "z(g)"),
    (r"w_([mM])", lambda found: f"w_{found[1]}"),
    (r"d_P\^2", lambda _: "d_P^2"),
    (r"d_P", lambda _: "d_P"),
    (r"kappa_P", lambda _: r"\kappa_P"),
    (r"psi", lambda _: r"\psi"),
    (r"theta_([FH0])", lambda found: rf"\theta_{found[1]}"),
    (r"M\^\(-1/2\)", lambda _: "M^{-1/2}"),
    (r"([nM])\^([k2345])", lambda found: f"{found[1]}^{found[2]}"),
)
"""Pieces of docstrings that are formulas, and what writes them as such."""
FORMULA = re.compile(r"(?<![\w.^-])(?:" + "|".join(pattern for pattern, _ in FORMULAS) + r")(?![\w^])")
QUOTED = re.compile(r"(`+[^`]*`+)")
HEADS = re.compile(r"\s*\w+(, \w+)* : |\s*>>>|\s*\.\.\.")


def as_formula(found):
    """Return a piece of text as a formula in reStructuredText."""
    for pattern, tex in FORMULAS:
        if match := re.fullmatch(pattern, found.group()):
            return rf"\ :math:`{tex(match)}`\ "
    return found.group()


def plain(app, what, name, obj, options, lines):
    """Docstrings are plain text: signs that mean something in reStructuredText are taken as they are."""
    in_example = False
    for number, line in enumerate(lines):
        in_example = line.lstrip().startswith(">>>") or (in_example and bool(line.strip()))
        if in_example:
            continue
        line = re.sub(r":ref:`([^`<]*?)\s*(<[^`>]*>)?`", r"\1", line)  # labels of other projects
        line = line.replace("|", "\\|").replace("*", "\\*")
        line = re.sub(r"(?<=\w)_(?=[\s,.;:)\]]|$)", r"\\_", line)
        if not HEADS.match(line):
            parts = QUOTED.split(line)
            parts[::2] = [FORMULA.sub(as_formula, part) for part in parts[::2]]
            line = "".join(parts)
        lines[number] = line


NUMBER = re.compile(r"[-+=!<>≤≥≈ ]*\d[\d.,]*(?!\w*-)")


def tidy(app, doctree):
    """Align columns of numbers, and drop the empty line that ends an example."""
    for block in doctree.findall(nodes.literal_block):
        if block.rawsource == block.astext():
            text = block.astext().rstrip("\n")
            block.rawsource, block.children = text, [nodes.Text(text)]
            block.children[0].parent = block
    for table in doctree.findall(nodes.table):
        rows = [list(row.findall(nodes.entry)) for row in table.findall(nodes.row)]
        for column in list(zip(*rows, strict=False))[1:]:
            texts = [entry.astext() for entry in column[1:] if entry.astext().strip()]
            if sum(bool(NUMBER.match(text)) for text in texts) > 0.8 * len(texts):
                for entry in column:
                    entry["classes"].append("number")


def setup(app):
    """Take part before numpydoc does."""
    app.connect("autodoc-process-docstring", plain, priority=100)
    app.connect("doctree-read", tidy)
