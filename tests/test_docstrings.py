"""The reference is complete: public functions, classes and methods have parameters, results and examples.

The rules:

- Parameters of functions, methods and classes have a type. Fields of result classes may be attributes.
- What returns a value has a section Returns or Yields.
- There is an example. That of a method may be in the docstring of its class or of a base class.
- A property has a sentence and an annotated type. Errors and warnings have a sentence.
- A method that overrides a documented one of this package has a sentence, or no docstring: then it inherits.
- Methods inherited from other libraries, and the hooks of torch, are excepted.
"""

import importlib
import inspect
import runpy
from pathlib import Path

import pytest

from optional import require

PUBLIC = runpy.run_path(str(Path(__file__).parents[1] / "docs" / "reference_pages.py"))["PUBLIC"]
HOOKS = {"extra_repr", "get_extra_state", "set_extra_state", "reset_parameters"}


def incomplete(found, name, shown=""):
    """What a docstring lacks; `shown` is the text of its class."""
    text = inspect.getdoc(found) or ""
    sections = require("numpydoc.docscrape").NumpyDocString(text)
    types = {
        name.strip().lstrip("*"): parameter.type
        for section in ("Parameters", "Attributes")
        for parameter in sections[section]
        for name in parameter.name.split(",")
    }
    signature = inspect.signature(found)
    for parameter in signature.parameters:
        if parameter not in {"self", "cls"} and not types.get(parameter):
            yield f"the type of {parameter}"
    result = signature.return_annotation
    returns = not inspect.isclass(found) and result not in {"None", None}
    if returns and not sections["Returns"] + sections["Yields"]:
        yield "the result"
    if ">>>" not in text and f"{name}(" not in shown:
        yield "an example"


def incomplete_member(owner, name, homes):
    found = inspect.unwrap(getattr(vars(homes[0])[name], "__func__", vars(homes[0])[name]))
    if isinstance(found, property):
        if not found.__doc__ or not found.fget.__annotations__.get("return"):
            yield "a sentence and a type"
    elif inspect.isfunction(found) and name not in HOOKS and len(homes) == 1:
        shown = "".join(base.__doc__ or "" for base in owner.__mro__ if base.__module__.startswith("grnf"))
        yield from incomplete(found, name, shown)


def lacking(package):
    for name in PUBLIC[package][1].split():
        found = getattr(importlib.import_module(package), name)
        if inspect.isclass(found) and issubclass(found, Exception):
            assert found.__doc__
        elif callable(found):
            yield from ((name, what) for what in incomplete(found, name))
        if inspect.isclass(found):
            own = [base for base in found.__mro__ if base.__module__.startswith("grnf")]
            for member in {member for base in own for member in vars(base) if member[0] != "_"}:
                homes = [base for base in own if member in vars(base)]
                yield from ((f"{name}.{member}", what) for what in incomplete_member(found, member, homes))


@pytest.mark.parametrize("package", PUBLIC)
def test_public_docstrings_are_complete(package):
    if package == "grnf.nn":
        require("torch_geometric")
    assert sorted({*lacking(package)}) == []
