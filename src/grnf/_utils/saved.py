"""Checking saved files against a schema: the error names the file and the field.

A schema is a `Rule`, a tuple of them (one must hold), a list with the schema of all entries, or a dict with
the schema of each field. A field whose name ends in "?" may be absent, and `Optional(schema)` may be null.

>>> validate({"shards": [{"rows": -3}]}, {"shards": [{"rows": Int(0)}]}, "z.json")
Traceback (most recent call last):
grnf.errors.GraphError: z.json: shards[0].rows must be an integer >= 0, got -3. The file is damaged or ...
"""

from __future__ import annotations

import json
import math
import os
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from grnf._utils.rules import Bool, Instance, Int, Rule
from grnf.errors import GraphError

CURE = "The file is damaged or was changed"
LONGEST_VALUE = 60
DAMAGE = (
    ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error, AttributeError, NotImplementedError,
    SyntaxError, tokenize.TokenError, OverflowError,
)  # fmt: skip
"""What numpy raises for damaged .npy and .npz files."""


class Number(Rule):
    """A finite number, of any sign."""

    words = "a finite number"

    def take(self, value: Any) -> float:
        if isinstance(value, bool | str) or not math.isfinite(value):
            raise ValueError
        return float(value)


class FileName(Rule):
    """The name of a file in the same folder."""

    words = "the name of a file in the same folder"

    def take(self, value: Any) -> str:
        if not isinstance(value, str) or value in ("", ".", "..") or any(c in value for c in "/\\\0"):
            raise ValueError
        return value


@dataclass(frozen=True)
class Optional:
    """A value that may be null."""

    schema: Any


ANY = Instance("a value", object)
BOOL = Bool()
COUNT = Int(0, 2**62)
NUMBER = Number()
OBJECT = Instance("an object", dict)
TEXT = Instance("text", str)
TEXTS = [TEXT]


def damaged(reason: str, where: str | os.PathLike[str]) -> GraphError:
    """Return the error of a file that is not as it was saved."""
    return GraphError(reason.partition("\n")[0], where=os.fspath(where), cure=CURE)


def check_version(
    state: Any, format: str, version: int, what: str, where: str | os.PathLike[str]
) -> dict[str, Any]:
    """Return the state in a file. Refuse something else, or another version of its format."""
    if not isinstance(state, dict) or state.get("format") != format:
        raise GraphError(f"the file is not {what}: its 'format' is not {format!r}", where=os.fspath(where))
    found = state.get("version")
    if found != version:
        newer = isinstance(found, int) and found > version
        raise GraphError(
            f"version {found!r} of the format {format!r} found, this release reads version {version}",
            where=os.fspath(where),
            cure="Update grnf" if newer else "Make the file again",
        )
    return state


def parse_json(text: str | bytes, where: str | os.PathLike[str]) -> Any:
    """Parse JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise damaged(f"invalid JSON: {error}", where) from None


def validate(value: Any, schema: Any, where: str | os.PathLike[str], field: str = "") -> None:
    """Raise an error that names file and field unless a value of JSON is as its schema says."""
    if isinstance(schema, Optional):
        if value is not None:
            validate(value, schema.schema, where, field)
    elif isinstance(schema, Mapping):
        validate(value, OBJECT, where, field)
        for name, own in schema.items():
            key = name.removesuffix("?")
            path = f"{field}.{key}" if field else key
            if key in value:
                validate(value[key], own, where, path)
            elif key == name:
                raise damaged(f"{path} is missing", where)
    elif isinstance(schema, list):
        validate(value, Instance("a list", list), where, field)
        for position, entry in enumerate(value):
            validate(entry, schema[0], where, f"{field}[{position}]")
    else:
        rules = schema if isinstance(schema, tuple) else (schema,)
        for rule in rules:
            try:
                rule.take(value)
                return
            except (TypeError, ValueError, OverflowError):
                continue
        words = " or ".join(rule.words for rule in rules)
        raise damaged(f"{field or 'the content'} must be {words}, got {value!r:.{LONGEST_VALUE}}", where)


@dataclass(frozen=True)
class Array:
    """An array: the kinds of its numbers (as `dtype.kind`), and its shape. Equal letters are equal sizes."""

    kinds: str
    shape: tuple[int | str, ...]
    finite: bool = True


def validate_arrays(
    arrays: Mapping[str, npt.NDArray[Any]],
    schema: Mapping[str, Array],
    where: str | os.PathLike[str],
    **sizes: int,
) -> None:
    """Raise an error that names file and array unless arrays have the kinds and shapes of their schema."""
    known: dict[Any, int] = dict(sizes)
    for name, rule in schema.items():
        if name not in arrays:
            raise damaged(f"the array {name} is missing", where)
        array = arrays[name]
        if array.dtype.kind not in rule.kinds or array.dtype.itemsize > 8 or array.ndim != len(rule.shape):
            shape = "x".join(map(str, rule.shape))
            raise damaged(f"{name} must be an array of shape {shape}, got {array.dtype} {array.shape}", where)
        for size, want in zip(array.shape, rule.shape, strict=True):
            expected = known.setdefault(want, size) if isinstance(want, str) else want
            if size != expected:
                raise damaged(f"{name} must have {expected} entries ({want}), got shape {array.shape}", where)
        if rule.finite and array.dtype.kind == "f" and not np.isfinite(array).all():
            raise damaged(f"{name} must be finite numbers, got NaN or infinity", where)


def read_arrays(path: str | os.PathLike[str], what: str) -> tuple[Any, dict[str, npt.NDArray[Any]]]:
    """Read an .npz file of plain arrays. Return the JSON in its array `head`, and the other arrays."""
    try:
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        text = arrays.pop("head").tobytes()
    except FileNotFoundError:
        raise GraphError("the file does not exist", where=str(path)) from None
    except (*DAMAGE, OSError) as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise
        raise GraphError(f"not {what}, or damaged: {error}", where=str(path)) from None
    return parse_json(text, path), arrays
