"""Leave out doctests of modules and pages whose optional dependencies are not installed."""

import importlib.util
from importlib.metadata import entry_points


def absent(*names):
    """Whether one of these packages is not installed."""
    return any(importlib.util.find_spec(name) is None for name in names)


collect_ignore_glob = ["docs/*.py", "docs/gallery/*", "docs/reference/*", "docs/_build/*"]
if absent("torch"):
    collect_ignore_glob += ["src/grnf/nn/*"]
if absent("networkx"):
    collect_ignore_glob += ["docs/guides/networks.md", "docs/guides/programs.md", "docs/guides/files.md"]
if absent("rdkit"):
    collect_ignore_glob += ["docs/index.md", "docs/tutorial.md", "docs/guides/molecules.md"]
if absent("networkx") or "grnf" not in entry_points(group="networkx.backends").names:
    collect_ignore_glob += ["docs/guides/compare.md"]
