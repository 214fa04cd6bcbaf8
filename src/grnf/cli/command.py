"""Commands with one options object: a dataclass whose fields are options, in the panels of the help."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from glob import glob
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from typer import Argument, BadParameter, Option
from typer.core import TyperCommand, TyperGroup

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
    """Turn the fields of the parameter `job` into options, and run the command with what was given.

    The dataclass of `job` has methods `check`, called first, and `running`, the context of the command.

    Options and arguments are types with notes: ``Annotated[int, "-m M", "Number of features. [default: 512]",
    {"min": 1}]`` has names and a metavar, the help, and further settings of Typer. Only the help is needed.
    Each class has an attribute `panel`, the heading of the options that it adds. The lines of each paragraph
    of the docstring are joined, so that the terminal wraps them.

    Examples
    --------
    >>> from grnf.cli.options import Messages
    >>> @command
    ... def count(source: str, *, k: int = 3, job: Messages) -> None:
    ...     print(source, job, k)
    >>> list(inspect.signature(count).parameters)
    ['source', 'k', 'quiet', 'as_json']
    >>> count(source="a", k=2, quiet=True)
    a Messages(quiet=True, as_json=False) 2
    """
    signature = inspect.signature(function)
    hints = get_type_hints(function, include_extras=True)
    kind = hints.get("job")
    parameters = signature.parameters.values()
    arguments = [each for each in parameters if each.kind is not Parameter.KEYWORD_ONLY]
    arguments = [_described(each, hints[each.name], None) for each in arguments]
    options = [
        _described(each, hints[each.name], PANELS[0])
        for each in parameters
        if each.kind is Parameter.KEYWORD_ONLY and not is_dataclass(hints[each.name])
    ]
    of_job = list(_fields(kind)) if kind else []
    options = sorted([*options, *of_job], key=_place)

    @wraps(function)
    def called(**given: Any) -> None:
        _check_outputs(given, [parameter.name for parameter in arguments])
        if kind is None:
            function(**given)
            return
        job = kind(**{each.name: given.pop(each.name) for each in of_job if each.name in given})
        job.check()
        with job.running():
            function(**given, job=job)

    every = [*arguments, *options]
    called.__signature__ = signature.replace(parameters=every)  # type: ignore[attr-defined]
    called.__annotations__ = {each.name: each.annotation for each in every} | {"return": None}
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


def _fields(kind: Any) -> Iterator[Parameter]:
    """Yield the fields of a dataclass as keyword parameters."""
    hints = get_type_hints(kind, include_extras=True)
    for field in fields(kind):
        if field.init:
            default = Parameter.empty if field.default is MISSING else field.default
            origin = next(base for base in kind.__mro__[::-1] if field.name in inspect.get_annotations(base))
            plain = Parameter(field.name, Parameter.KEYWORD_ONLY, default=default)
            yield _described(plain, hints[field.name], origin.panel)


def _place(option: Parameter) -> int:
    return PANELS.index(get_args(option.annotation)[1].rich_help_panel)


def _described(parameter: Parameter, hint: Any, panel: str | None) -> Parameter:
    """Return a parameter with its type, and its help as Typer takes it. Arguments have no panel."""
    kind, *notes = get_args(hint) if get_origin(hint) is Annotated else (hint, "")
    settings = notes.pop() if isinstance(notes[-1], dict) else {}
    words = " ".join(notes[:-1]).split()
    names = [word for word in words if word.startswith("-")]
    text, _, default = notes[-1].partition(" [default: ")
    about: dict[str, Any] = {"help": text, "metavar": " ".join(words[len(names) :]) or None}
    if panel is None:
        return parameter.replace(annotation=Annotated[kind, Argument(**about)])
    if not any(name.startswith("--") for name in names):
        names.insert(0, f"--{parameter.name.replace('_', '-')}")
    about |= {"show_default": default[:-1] or True, "rich_help_panel": panel, **settings}
    return parameter.replace(annotation=Annotated[kind, Option(*names, **about)])


def _joined(doc: str | None) -> str | None:
    """Return a docstring with one line per paragraph. The terminal does not wrap a paragraph of examples."""
    if doc is None:
        return None
    paragraphs = inspect.cleandoc(doc).split("\n\n")
    return "\n\n".join(f"\b\n{text}" if "\n " in text else text.replace("\n", " ") for text in paragraphs)
