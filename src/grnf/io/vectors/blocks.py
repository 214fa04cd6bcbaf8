"""Blocks of vectors with ids, labels and columns, the types of their columns, and Arrow tables."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from grnf._utils.result_tables import safe_text
from grnf.errors import GraphError, invalid
from grnf.io.raw import Cell
from grnf.typing import FloatArray

OUR_NAMES = re.compile("graph_id|y|embedding|grnf[0-9]+")
"""Columns that vectors are always written with."""
TYPES = (None, "absent", "int", "float", "string")
"""What a column may hold, from narrow to wide; "absent": nothing but words such as NA."""


@dataclass(frozen=True, eq=False)
class VectorBlock:
    """Some rows of an embedding: names of the graphs, their labels (or None), and their vectors."""

    ids: Sequence[str]
    y: Sequence[Any]
    Z: FloatArray
    """Vectors, shape (n_rows, M). It may be a memory map."""
    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Further columns, one entry per graph, None for a missing one. A `Cell` is a number if all entries of
    its column are."""

    def __post_init__(self) -> None:
        if self.Z.ndim != 2 or not len(self.ids) == len(self.y) == len(self.Z):
            found = f"{len(self.ids)} ids, {len(self.y)} y and Z of shape {self.Z.shape}"
            raise invalid("a block", "have one id, one y and one row of Z per graph", found)
        for name, values in self.columns.items():
            check_column_name(name)
            if len(values) != len(self.Z):
                raise invalid(
                    f"column {name!r}", f"have {len(self.Z)} entries, one per row", str(len(values))
                )

    def column(self, name: str) -> Sequence[Any]:
        """Return the ids, the labels or a column, or None for each row if the block does not have it."""
        if name == "graph_id":
            return self.ids
        return self.y if name == "y" else self.columns.get(name, [None] * len(self.Z))


def safe_block(block: VectorBlock) -> VectorBlock:
    """Return a block whose texts no spreadsheet runs as formulas, see `grnf._utils.result_tables`."""
    columns = {safe_text(name): list(map(safe_text, values)) for name, values in block.columns.items()}
    return VectorBlock(list(map(safe_text, block.ids)), list(map(safe_text, block.y)), block.Z, columns)


def check_column_name(name: str) -> None:
    """Refuse the name of a column that vectors are always written with."""
    if OUR_NAMES.fullmatch(name):
        raise invalid("the name of a column", "differ from those of the columns of vectors", repr(name))


@dataclass(frozen=True, eq=False)
class Vectors:
    """An embedding: ids of the graphs, labels (or None), and vectors, shape (n_graphs, M)."""

    ids: list[str]
    y: list[Any] | None
    Z: FloatArray


@dataclass(frozen=True)
class Kind:
    """What a column holds: one of `TYPES`, whether any entry is missing, and the longest text."""

    type: str | None = None
    missing: bool = False
    longest: int = 1

    @classmethod
    def of(cls, values: Iterable[Any]) -> Kind:
        """Return the kind of some values."""
        width, missing, longest = 0, False, 1
        for value in values:
            if value is None:
                missing = True
                continue
            longest = max(longest, len(as_text(value)))
            kind = "absent" if isinstance(value, Cell) and value.is_absent else _type(value)
            missing |= kind == "absent"
            width = max(width, TYPES.index(kind))
        return cls(TYPES[width], missing, longest)

    def __or__(self, other: Kind) -> Kind:
        """Return the kind of a column that has the values of both."""
        width = max(TYPES.index(self.type), TYPES.index(other.type))
        return Kind(TYPES[width], self.missing or other.missing, max(self.longest, other.longest))

    @property
    def is_number(self) -> bool:
        """Whether the column is written as numbers."""
        return self.type in ("int", "float")

    def typed(self, values: Iterable[Any]) -> list[Any]:
        """Return values in the type of the column, None for missing ones."""
        if not self.is_number:
            return [None if value is None else str(as_text(value)) for value in values]
        convert: Callable[[Any], Any] = int if self.type == "int" else float
        numbers = (value.number() if isinstance(value, Cell) else value for value in values)
        return [None if value is None else convert(value) for value in numbers]


@dataclass(frozen=True)
class Layout:
    """What all rows of an embedding have in common: length and type of the vectors, kinds of the columns."""

    n_rows: int
    n_components: int
    dtype: str
    kinds: Mapping[str, Kind]

    @classmethod
    def of(cls, block: VectorBlock) -> Layout:
        """Return the layout of a block."""
        kinds = {name: Kind.of(block.column(name)) for name in ("graph_id", "y", *block.columns)}
        return cls(len(block.Z), block.Z.shape[1], block.Z.dtype.str, kinds)

    def __or__(self, other: Layout) -> Layout:
        """Return the layout of the rows of both."""
        if (self.n_components, self.dtype) != (other.n_components, other.dtype):
            lengths = sorted({self.n_components, other.n_components})
            found = f"lengths {lengths}, types {sorted({self.dtype, other.dtype})}"
            raise invalid("blocks of the same embedding", "have vectors of equal length and type", found)
        kinds = {}
        for name in {**self.kinds, **other.kinds}:
            kind = self.kinds.get(name, Kind(missing=bool(self.n_rows)))
            kinds[name] = kind | other.kinds.get(name, Kind(missing=bool(other.n_rows)))
        return replace(self, n_rows=self.n_rows + other.n_rows, kinds=kinds)

    @property
    def columns(self) -> dict[str, str]:
        """Names and types of the columns between ids and vectors. `y` is one only if a graph has a label."""
        shown = {name: kind for name, kind in self.kinds.items() if name not in ("graph_id", "y")}
        if self.kinds["y"].type is not None:
            shown = {"y": self.kinds["y"], **shown}
        return {name: str(kind.type) if kind.is_number else "string" for name, kind in shown.items()}

    def schema(self) -> Any:
        """Return the Arrow schema: graph_id, the columns, embedding."""
        import pyarrow as pa

        types = {"int": pa.int64(), "float": pa.float64(), "string": pa.string()}
        columns = [("graph_id", pa.string()), *((name, types[own]) for name, own in self.columns.items())]
        vectors = pa.list_(pa.from_numpy_dtype(np.dtype(self.dtype)), self.n_components)
        return pa.schema([*columns, ("embedding", vectors)])

    def to_config(self) -> dict[str, Any]:
        """Return the layout as JSON values."""
        kinds = {name: [kind.type, kind.missing, kind.longest] for name, kind in self.kinds.items()}
        return {"rows": self.n_rows, "length": self.n_components, "dtype": self.dtype, "kinds": kinds}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Layout:
        """Return the layout that `to_config` described."""
        kinds = {name: Kind(*kind) for name, kind in config["kinds"].items()}
        return cls(config["rows"], config["length"], config["dtype"], kinds)


def table_of_vectors(block: VectorBlock, layout: Layout) -> Any:
    """Return a block as an Arrow table."""
    import pyarrow as pa

    schema = layout.schema()
    arrays = [
        pa.array(layout.kinds[name].typed(block.column(name)), schema.field(name).type)
        for name in ("graph_id", *layout.columns)
    ]
    return pa.Table.from_arrays([*arrays, vectors_array(block.Z)], schema=schema)


def vectors_array(Z: FloatArray) -> Any:
    """Return vectors as an Arrow array of lists of equal length, which shares their memory."""
    import pyarrow as pa

    return pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(Z).reshape(-1)), Z.shape[1])


def check_kind(ids: Sequence[str], name: str, values: Sequence[Any], kind: Kind) -> None:
    """Raise an error if a value does not fit the kind of its column, as the first graphs showed it."""
    if kind.type == "string":
        return
    for own, value in zip(ids, map(plain, values), strict=True):
        if value is not None and not isinstance(value, int | float):
            reason = f"{name} is {value!r}, but the first graphs have numbers there"
            raise GraphError(reason, where=f"graph {own}", cure="Make it one kind")


def plain(value: Any) -> Any:
    """Turn numpy numbers and arrays into numbers and lists, as JSON has them."""
    return value.tolist() if isinstance(value, (np.generic, np.ndarray)) else value


def as_text(value: Any) -> str:
    """Return a label as text: strings unchanged, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(plain(value), default=str)


def array_of(values: Iterable[Any], kind: Kind) -> npt.NDArray[Any]:
    """Return values as an array of the common type. Missing ones are NaN or the empty string."""
    entries = kind.typed(values)
    if kind.type == "int" and not kind.missing:
        return np.array(entries, dtype=np.int64)
    if kind.is_number:
        return np.array([np.nan if value is None else value for value in entries], dtype=np.float64)
    return np.array(["" if value is None else value for value in entries], dtype=f"<U{kind.longest}")


def _type(value: Any) -> str:
    if isinstance(value, Cell):
        number = value.number()
        value = str(value) if number is None else number
    value = plain(value)
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return "int"
    return "float" if isinstance(value, float) else "string"
