"""Many molecules of RDKit as a block: their pickled forms are read side by side.

RDKit's Python objects of atoms and bonds cost some microseconds each, and several calls; the binary form of a
molecule is one call. It is the format of RDKit's own pickles: a head, then for each atom its number, flags,
and bytes for what is not usual, then the bonds likewise, and the rings as lists of atoms. All molecules are
read in step, atom by atom. Before that is relied on, it is checked against RDKit's calls on odd molecules;
with a version of RDKit where that fails, and for molecules with anything strange about them (queries,
dummies, atom maps, more than 255 atoms), the calls are used.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grnf._utils.arrays import offsets
from grnf.errors import GraphError
from grnf.io.batch import RawBatch, RawColumn, joined
from grnf.io.from_molecules import molecule_of_smiles, quiet_rdkit, raw_from_mol
from grnf.io.raw import RawGraph
from grnf.typing import BoolArray, FloatArray, IntArray

__all__ = ["block_of_molecules", "block_of_smiles"]

HEAD = 20
"""Bytes that say which version of the format it is."""
MOST_ATOMS = 255
"""Atoms up to which their numbers take one byte."""
BONDS, RINGS = 0x0B, 0x42
"""What begins the list of bonds, and that of rings."""
SP3, SINGLE = 4, 1
"""Hybridization and type of bond that are not written."""
ODD = (
    "C", "[NH4+].[O-]C=O", "C[C@H](N)O", "[13CH4]", "[CH3]", "F/C=C/F", "F/C=C\\F", "c1ccc2ccccc2c1", "C#N",
    "[Fe]<-[NH3]", "[H][H]", "[2H]C", "C[N+](C)(C)C", "[nH]1cccc1", "O=S(=O)(O)O", "C1CC1C2CC2",
    "[Na+].[Cl-]", "FS(F)(F)(F)(F)F", "[O]", "B12C3C4C1C5C2C3C45", "CC(=O)Oc1ccccc1C(=O)O", "[Cu+2]",
    "P(Cl)(Cl)(Cl)(Cl)Cl",
)  # fmt: skip


def block_of_smiles(smiles: Sequence[str]) -> RawBatch:
    """Read SMILES strings; those that are none are bad graphs of the block.

    Examples
    --------
    >>> batch = block_of_smiles(["CO", "C(", "c1ccccc1"])
    >>> np.diff(batch.node_ptr), list(batch.bad)
    (array([2, 0, 6]), [1])
    """
    bad: dict[int, str] = {}
    with quiet_rdkit(smiles[0] if smiles else "") as chem:
        mols: list[Any] = [chem.MolFromSmiles(text) if text.strip() else None for text in smiles]
        for place, text in enumerate(smiles):
            if mols[place] is None:
                try:
                    mols[place] = molecule_of_smiles(text)
                except GraphError as error:
                    bad[place] = str(error)
    return block_of_molecules(mols, bad)


def block_of_molecules(mols: Sequence[Any], bad: dict[int, str] | None = None) -> RawBatch:
    """Return molecules as a block; where there is None instead of one, `bad` says why."""
    bad = {} if bad is None else bad
    if any(mol is None and place not in bad for place, mol in enumerate(mols)):
        raise GraphError("None is no molecule")
    found = _decoded(mols) if _can_decode() else None
    usual = np.zeros(len(mols), np.bool_) if found is None else found[1]
    slow = [place for place, mol in enumerate(mols) if mol is not None and not usual[place]]
    parts: list[tuple[list[int], RawBatch]] = []
    if found is not None:
        parts.append((np.flatnonzero(usual).tolist(), found[0]))
    if slow:
        parts.append((slow, RawBatch.of([raw_from_mol(mols[place]) for place in slow])))
    return joined(parts, len(mols), bad)


@cache
def _can_decode() -> bool:
    """Whether the binary form of this version of RDKit is read as its calls have it."""
    try:
        mols = [molecule_of_smiles(text) for text in ODD]
        decoded = _decoded(mols)
        if decoded is None or not decoded[1].all():
            return False
        return all(_same(decoded[0][place], raw_from_mol(mol)) for place, mol in enumerate(mols))
    except (GraphError, ValueError, IndexError, RuntimeError, OverflowError):
        return False


def _same(first: RawGraph, second: RawGraph) -> bool:
    pairs = [(first.edges, second.edges)]
    for columns, others in (
        (first.node_columns, second.node_columns),
        (first.edge_columns, second.edge_columns),
    ):
        if list(columns) != list(others):
            return False
        pairs += [(columns[name], others[name]) for name in columns]
    return first.graph_id == second.graph_id and all(np.array_equal(one, other) for one, other in pairs)


def _decoded(mols: Sequence[Any]) -> tuple[RawBatch, BoolArray] | None:
    """Return the molecules that can be read so as a block, and which they are."""
    places = [place for place, mol in enumerate(mols) if mol is not None and mol.GetNumAtoms() <= MOST_ATOMS]
    if not places:
        return None
    binaries = [mols[place].ToBinary(0) for place in places]
    head = binaries[0][:HEAD]
    atoms, bonds, good = _Walk(binaries, head).tables()
    usual = np.zeros(len(mols), np.bool_)
    usual[np.array(places)[good]] = True
    if not good.all():
        if not good.any():
            return None
        return _decoded_again(mols, usual)
    own = [mols[place] for place in places]
    return _batch(own, atoms, bonds), usual


def _decoded_again(mols: Sequence[Any], usual: BoolArray) -> tuple[RawBatch, BoolArray] | None:
    """Read the usual molecules alone."""
    found = _decoded([mol if usual[place] else None for place, mol in enumerate(mols)])
    return None if found is None else (found[0], usual)


class _Atoms(NamedTuple):
    ptr: IntArray
    number: IntArray
    aromatic: IntArray
    charge: IntArray
    hydrogens: IntArray
    hybridization: IntArray


class _Bonds(NamedTuple):
    ptr: IntArray
    ends: IntArray
    kind: IntArray
    conjugated: IntArray
    in_ring: FloatArray


class _Walk:
    """Reads binary molecules in step."""

    def __init__(self, binaries: list[bytes], head: bytes) -> None:
        lengths = np.array([len(binary) for binary in binaries])
        self.data = np.frombuffer(b"".join(binaries) + bytes(64), dtype=np.uint8).astype(np.int64)
        self.cursor = np.cumsum(lengths) - lengths
        self.good = np.array([binary.startswith(head) for binary in binaries])
        self.n_atoms = self._four_bytes(self.cursor + HEAD)
        self.n_bonds = self._four_bytes(self.cursor + HEAD + 4)
        self.good &= (self.data[self.cursor + HEAD + 8] == 0x80) & (self.data[self.cursor + HEAD + 9] == 1)
        self.cursor += HEAD + 10
        self.last = len(self.data) - 32

    def tables(self) -> tuple[_Atoms, _Bonds, BoolArray]:
        """Return what atoms and bonds are, and which molecules could be read."""
        atoms = self._atoms()
        self.good &= self.data[self.cursor] == BONDS
        self.cursor += 1
        bonds = self._bonds()
        self.cursor = np.minimum(self.cursor, self.last)
        return atoms, bonds._replace(in_ring=self._in_ring(atoms.ptr, bonds)), self.good

    def _four_bytes(self, at: IntArray) -> IntArray:
        data = self.data
        return np.asarray(data[at] + (data[at + 1] << 8) + (data[at + 2] << 16) + (data[at + 3] << 24))

    def _steps(self, counts: IntArray) -> Any:
        """Yield the molecules that have a k-th item, with where it goes, for k = 0, 1, ..."""
        order = np.argsort(-counts, kind="stable")
        ptr = offsets(counts)
        descending = counts[order]
        for k in range(int(counts.max(initial=0))):
            some = order[: int(np.searchsorted(-descending, -k, side="left"))]
            yield some, ptr[some] + k

    def _atoms(self) -> _Atoms:
        data = self.data
        total = int(self.n_atoms.sum())
        table = np.zeros((5, total), np.int64)
        for some, row in self._steps(self.n_atoms):
            at = np.minimum(self.cursor[some], self.last)
            flags, more = data[at + 1], data[at + 2] + (data[at + 3] << 8)
            strange = ((flags & ~0x60) != 0) | ((more & ~0x1FE) != 0) | (data[at + 4] + data[at + 5] != 0)
            self.good[some[strange]] = False
            table[0, row], table[1, row] = data[at], (flags >> 6) & 1
            at = at + 6
            has = (more >> 1) & 1
            table[2, row] = has * ((data[at] ^ 0x80) - 0x80)  # a signed byte
            at = at + has + ((more >> 2) & 1)  # the sense of a centre is not used
            has = (more >> 3) & 1
            table[4, row] = np.where(has, data[at], SP3)
            at = at + has
            has = (more >> 4) & 1
            hydrogens = has * data[at]
            at = at + has + ((more >> 5) & 1)
            has = (more >> 6) & 1
            table[3, row] = hydrogens + has * data[at]
            self.cursor[some] = at + has + ((more >> 7) & 1) + 4 * ((more >> 8) & 1)
        self.cursor = np.minimum(self.cursor, self.last)
        return _Atoms(offsets(self.n_atoms), *table)

    def _bonds(self) -> _Bonds:
        data = self.data
        total = int(self.n_bonds.sum())
        ends, table = np.zeros((total, 2), np.int64), np.zeros((2, total), np.int64)
        for some, row in self._steps(self.n_bonds):
            at = np.minimum(self.cursor[some], self.last)
            flags = data[at + 2]
            self.good[some[(flags & 0x91) != 0]] = False
            ends[row, 0], ends[row, 1], table[1, row] = data[at], data[at + 1], (flags >> 5) & 1
            has = (flags >> 3) & 1
            table[0, row] = np.where(has, data[at + 3], SINGLE)
            at = at + 3 + has + ((flags >> 2) & 1)
            stereo = (flags >> 1) & 1
            self.cursor[some] = at + stereo * (2 + data[np.minimum(at + 1, self.last)])
        return _Bonds(offsets(self.n_bonds), ends, table[0], table[1], np.zeros(0))

    def _in_ring(self, ptr: IntArray, bonds: _Bonds) -> FloatArray:
        """Return 1 for bonds whose ends are neighbours in one of the rings, which are lists of atoms."""
        self.good &= self.data[self.cursor] == RINGS
        counts = np.where(self.good, self._four_bytes(self.cursor + 1), 0)
        self.cursor += 5
        molecules, starts, sizes = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for k in range(int(counts.max(initial=0))):
            some = np.flatnonzero(counts > k)
            at = np.minimum(self.cursor[some], self.last)
            molecules.append(some)
            starts.append(at + 1)
            sizes.append(self.data[at])
            self.cursor[some] = at + 1 + sizes[-1]
        start, size = np.concatenate(starts), np.concatenate(sizes)
        end = np.cumsum(size)
        place = np.repeat(start - end + size, size) + np.arange(int(size.sum()))
        following = place + 1
        following[end[size > 0] - 1] = start[size > 0]
        first = ptr[np.repeat(np.concatenate(molecules), size)]
        most = len(self.data) - 1
        around = np.column_stack([self.data[np.minimum(at, most)] + first for at in (place, following)])
        ends = bonds.ends + np.repeat(ptr[:-1], np.diff(bonds.ptr))[:, np.newaxis]
        keys = [np.sort(pairs, axis=1) @ np.array([int(ptr[-1]) + 1, 1]) for pairs in (ends, around)]
        return np.isin(*keys).astype(np.float64)


def _batch(mols: list[Any], atoms: _Atoms, bonds: _Bonds) -> RawBatch:
    from rdkit import Chem

    first = np.repeat(atoms.ptr[:-1], np.diff(bonds.ptr))
    degree = np.bincount((bonds.ends + first[:, np.newaxis]).ravel(), minlength=len(atoms.number))
    symbol = Chem.GetPeriodicTable().GetElementSymbol
    hybridization, kind = Chem.HybridizationType.values, Chem.BondType.values
    return RawBatch(
        atoms.ptr,
        bonds.ptr,
        bonds.ends,
        {
            "symbol": _category(atoms.number, symbol),
            "charge": RawColumn(atoms.charge.astype(np.float64)),
            "aromatic": RawColumn(atoms.aromatic.astype(np.float64)),
            "hydrogens": RawColumn(atoms.hydrogens.astype(np.float64)),
            "degree": RawColumn(degree.astype(np.float64)),
            "hybridization": _category(atoms.hybridization, lambda code: str(hybridization[code])),
        },
        {
            "type": _category(bonds.kind, lambda code: str(kind[code])),
            "conjugated": RawColumn(bonds.conjugated.astype(np.float64)),
            "ring": RawColumn(bonds.in_ring),
        },
        np.zeros(len(mols), np.bool_),
        [mol.GetProp("_Name") if mol.HasProp("_Name") else None for mol in mols],
        [None] * len(mols),
    )


def _category(codes: IntArray, name: Any) -> RawColumn:
    present: npt.NDArray[Any] = np.flatnonzero(np.bincount(codes))
    places = np.zeros(int(present.max(initial=0)) + 1, np.int64)
    places[present] = np.arange(len(present))
    return RawColumn(places[codes], tuple(name(int(code)) for code in present))
