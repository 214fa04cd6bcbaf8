"""Commands whose options come in groups: a dataclass of options is a parameter of a command."""

from __future__ import annotations

import copy
import inspect
import os
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from glob import glob
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from typer import BadParameter
from typer.core import TyperCommand, TyperGroup
from typer.models import ParameterInfo

__all__ = ["Command", "Group", "command"]


OUTPUTS = ("output", "picture", "save_layout")
INPUTS = ("reference", "like", "pairs", "delete", "onto")
"""Parameters that name files to write, and options that name files to read."""
PANELS = ("Method", "Output", "Input", "Features", "Run")
"""Panels of the help, in this order."""


class PlainFlags:
    """A command whose help shows no type for flags."""

    def get_params(self, ctx: Any) -> Any:
        """Return the arguments and options."""
        parameters = super().get_params(ctx)  # type: ignore[misc]
        for option in parameters:
            if getattr(option, "is_flag", False):
                option.metavar = ""
        return parameters


class Command(PlainFlags, TyperCommand):
    """A command, with --help among the options of the run."""

    def get_help_option(self, ctx: Any) -> Any:
        """Return the option --help."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.rich_help_panel = PANELS[-1]
        return option


class Group(PlainFlags, TyperGroup):
    """The commands."""


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Turn each parameter that is a dataclass into the options that are its fields.

    A dataclass may have a class attribute `panel`, the heading of its options in the help, and `helps`, texts
    that replace those of inherited options. The lines of each paragraph of the docstring are joined, so that
    the terminal wraps them.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Run:
    ...     n_jobs: int = 1
    ...     quiet: bool = False
    >>> @command
    ... def count(source: str, *, k: int = 3, run: Run) -> None:
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
    groups: dict[str, tuple[Any, list[str]]] = {}
    for parameter in signature.parameters.values():
        hint = hints[parameter.name]
        if is_dataclass(hint):
            members = list(_options(hint))
            groups[parameter.name] = hint, [option.name for option in members]
            options += members
        elif parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            options.append(parameter.replace(annotation=_in_panel(hint, PANELS[0])))
        else:
            arguments.append(parameter.replace(annotation=hint))
    options.sort(key=lambda option: PANELS.index(_panel(option.annotation)))

    @wraps(function)
    def called(*positional: Any, **given: Any) -> None:
        _check_outputs(given, [parameter.name for parameter in arguments])
        for name, (kind, names) in groups.items():
            given[name] = kind(**{option: given.pop(option) for option in names if option in given})
        function(*positional, **given)

    parameters = [*arguments, *options]
    called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {each.name: each.annotation for each in parameters} | {"return": None}
    called.__doc__ = _joined(function.__doc__)
    return called


def _check_outputs(given: dict[str, Any], arguments: list[str]) -> None:
    """Refuse to write to a file that the command reads."""
    inputs: list[str] = []
    for name in [*arguments, *INPUTS]:
        value = given.get(name) if name not in OUTPUTS else None
        inputs += map(str, value if isinstance(value, list) else [] if value is None else [value])
    for output in (Path(given[name]) for name in OUTPUTS if given.get(name) is not None):
        for name in inputs if output.exists() else ():
            for path in map(Path, [name] if os.path.exists(name) else glob(name)):
                if path.samefile(output) or (path.is_dir() and path.resolve() in output.resolve().parents):
                    raise BadParameter(f"{output} is an input of this command: choose another output")


def _options(group: Any) -> Iterator[inspect.Parameter]:
    """Yield the fields of a dataclass as keyword parameters."""
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        if field.init:
            text = getattr(group, "helps", {}).get(field.name)
            hint = _in_panel(hints[field.name], getattr(group, "panel", PANELS[0]), text)
            default = inspect.Parameter.empty if field.default is MISSING else field.default
            kind = inspect.Parameter.KEYWORD_ONLY
            yield inspect.Parameter(field.name, kind, default=default, annotation=hint)


def _in_panel(hint: Any, panel: str, text: str | None = None) -> Any:
    """Return the type of an option with the panel of the help that it belongs to."""
    if get_origin(hint) is not Annotated:
        return hint
    kind, *notes = get_args(hint)
    for position, note in enumerate(notes):
        if isinstance(note, ParameterInfo):
            notes[position] = note = copy.copy(note)
            note.rich_help_panel = note.rich_help_panel or panel
            note.help = text or note.help
    return Annotated[kind, *notes]


def _panel(hint: Any) -> str:
    notes = get_args(hint) if get_origin(hint) is Annotated else ()
    panels = (note.rich_help_panel for note in notes if isinstance(note, ParameterInfo))
    return next(filter(None, panels), PANELS[0])


def _joined(doc: str | None) -> str | None:
    """Return a docstring with one line per paragraph. The terminal does not wrap a paragraph of examples."""
    if doc is None:
        return None
    paragraphs = inspect.cleandoc(doc).split("\n\n")
    return "\n\n".join(f"\b\n{text}" if "\n " in text else text.replace("\n", " ") for text in paragraphs)
