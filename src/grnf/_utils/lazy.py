"""Packages whose names are loaded when they are first used, and packages that need not be installed."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def guest(module: str, what: str, extra: str = "io") -> Any:
    """Import an optional dependency, or raise an error that tells how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0].replace("_", "-")
        raise ImportError(f"{what} need {package}: pip install 'grnf[{extra}]'") from None


def lazy(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the function `__getattr__` of a package. `homes` has the module of each name."""

    def load(name: str) -> Any:
        if name in homes:
            return getattr(importlib.import_module(f"{package}.{homes[name]}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return load
