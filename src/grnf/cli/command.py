"""Commands whose options come in groups: a dataclass of options is a parameter of a command."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from typer.core import TyperCommand, TyperGroup
from typer.models import ParameterInfo

__all__ = ["Command", "Group", "command"]


class PlainFlags:
    """A command whose help shows no type for flags."""

    def get_params(self, ctx: Any) -> Any:
        """Return the arguments and options."""
        found = super().get_params(ctx)  # type: ignore[misc]
        for option in found:
            if getattr(option, "is_flag", False):
                option.metavar = ""
        return found


class Command(PlainFlags, TyperCommand):
    """A command."""


class Group(PlainFlags, TyperGroup):
    """The commands."""


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Turn each parameter that is a dataclass into the options that are its fields.

    A dataclass may have a class attribute `panel`, the heading of its options in the help. The lines of each
    paragraph of the docstring are joined, so that the terminal wraps them.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Run:
    ...     n_jobs: int = 1
    ...     quiet: bool = False
    >>> @command
    ... def count(source: str, run: Run, k: int = 3) -> None:
    ...     print(source, run, k)
    >>> str(inspect.signature(count)).replace("'", "")
    '(source: str, *, k: int = 3, n_jobs: int = 1, quiet: bool = False) -> None'
    >>> count(source="a", k=2, n_jobs=4, quiet=True)
    a Run(n_jobs=4, quiet=True) 2
    """
    signature = inspect.signature(function)
    hints = get_type_hints(function, include_extras=True)
    arguments: list[inspect.Parameter] = []
    options: list[inspect.Parameter] = []
    shared: list[inspect.Parameter] = []
    groups: dict[str, tuple[Any, list[str]]] = {}
    for parameter in signature.parameters.values():
        hint = hints[parameter.name]
        if is_dataclass(hint):
            fields_of = list(_options(hint))
            groups[parameter.name] = hint, [option.name for option in fields_of]
            shared += fields_of
        elif parameter.default is inspect.Parameter.empty:
            arguments.append(parameter.replace(annotation=hint))
        else:
            options.append(parameter.replace(annotation=hint, kind=inspect.Parameter.KEYWORD_ONLY))

    @wraps(function)
    def called(*positional: Any, **given: Any) -> None:
        for name, (kind, names) in groups.items():
            given[name] = kind(**{option: given.pop(option) for option in names if option in given})
        function(*positional, **given)

    parameters = [*arguments, *options, *shared]
    called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {each.name: each.annotation for each in parameters} | {"return": None}
    called.__doc__ = _joined(function.__doc__)
    return called


def _options(group: Any) -> Iterator[inspect.Parameter]:
    """Yield the fields of a dataclass as keyword parameters."""
    hints, panel = get_type_hints(group, include_extras=True), getattr(group, "panel", None)
    for field in fields(group):
        hint = _in_panel(hints[field.name], panel)
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        if field.default_factory is not MISSING:
            default = field.default_factory()
        yield inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _in_panel(hint: Any, panel: str | None) -> Any:
    """Return the type of an option with the panel of the help that it belongs to."""
    if get_origin(hint) is not Annotated:
        return hint
    kind, *notes = get_args(hint)
    for place, note in enumerate(notes):
        if isinstance(note, ParameterInfo) and note.rich_help_panel is None:
            notes[place] = copy.copy(note)
            notes[place].rich_help_panel = panel
    return Annotated[kind, *notes]


def _joined(doc: str | None) -> str | None:
    """Return a docstring with one line per paragraph; indented lines do not change."""
    if doc is None:
        return None
    paragraphs = inspect.cleandoc(doc).split("\n\n")
    return "\n\n".join(text if "\n " in f"\n{text}" else " ".join(text.split("\n")) for text in paragraphs)
