"""Settings of the site: `make docs` builds it without a network."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import reference_pages

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

sphinx_gallery_conf = {
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


def plain(app, what, name, obj, options, lines):
    """Docstrings are plain text: signs that mean something in reStructuredText are taken as they are."""
    for number, line in enumerate(lines):
        if ">>>" not in line and not line.lstrip().startswith("..."):
            line = re.sub(r":ref:`([^`<]*?)\s*(<[^`>]*>)?`", r"\1", line)  # labels of other projects
            line = line.replace("|", "\\|").replace("*", "\\*")
            lines[number] = re.sub(r"(?<=\w)_(?=[\s,.;:)\]]|$)", r"\\_", line)


def setup(app):
    """Take part before numpydoc does."""
    app.connect("autodoc-process-docstring", plain, priority=100)
