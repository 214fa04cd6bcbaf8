"""Molecules: RDKit objects and SMILES strings.

RDKit's Python objects of atoms and bonds cost microseconds each, and several calls. The binary form of a
molecule is one call. It is the format of RDKit's own pickles: a head, then for each atom its number, flags,
and bytes for what is not usual, then the bonds likewise, and the rings as lists of atoms. `_Walk` reads all
molecules in parallel, atom by atom. `_can_decode` first compares it with RDKit's calls on unusual molecules.
The calls are used if that fails, for few molecules, and for molecules with queries, dummies, atom maps or
more than 255 atoms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from grnf._utils.arrays import offsets
from grnf.errors import GraphError
from grnf.io.raw import RawBatch, RawColumn, RawGraph, joined
from grnf.typing import FloatArray, IntArray

__all__ = [
    "batch_from_molecules", "batch_from_smiles", "canonical_smiles", "molecule_of_raw", "molecule_of_smiles",
    "quiet_rdkit", "raw_from_mol", "raw_from_smiles", "smiles_from_raw", "smiles_of_mol_block",
    "standardized",
]  # fmt: skip

LEAST_DECODED = 8
"""Molecules below which RDKit's calls are faster than decoding."""
HEAD = 20
"""Bytes that tell the version of the format."""
MOST_ATOMS = 255
"""Atoms up to which their numbers take one byte."""
BONDS, RINGS = 0x0B, 0x42
"""Bytes before the list of bonds and that of rings."""
SP3, SINGLE = 4, 1
"""Hybridization and type of bond that are not written."""
MOST_ITERATIONS = 1_250_000
"""Steps of the labels of Cahn, Ingold and Prelog in one molecule, as RDKit recommends: about a second."""
CHANGED_BY_STANDARDIZE = frozenset(".+-")
"""Characters of which a SMILES has at least one if `standardized` can change its molecule."""
UNUSUAL = (
    "C", "[NH4+].[O-]C=O", "C[C@H](N)O", "[13CH4]", "[CH3]", "F/C=C/F", "F/C=C\\F", "c1ccc2ccccc2c1", "C#N",
    "[Fe]<-[NH3]", "[H][H]", "[2H]C", "C[N+](C)(C)C", "[nH]1cccc1", "O=S(=O)(O)O", "C1CC1C2CC2",
    "[Na+].[Cl-]", "FS(F)(F)(F)(F)F", "[O]", "B12C3C4C1C5C2C3C45", "CC(=O)Oc1ccccc1C(=O)O", "[Cu+2]",
    "P(Cl)(Cl)(Cl)(Cl)Cl",
)  # fmt: skip


def batch_from_smiles(smiles: Sequence[str], *, standardize: bool = False, stereo: bool = False) -> RawBatch:
    """Read SMILES strings with RDKit. Invalid ones are bad graphs of the batch.

    Parameters are those of `batch_from_molecules`. The graph column "smiles" has the strings unchanged.

    Examples
    --------
    >>> batch = batch_from_smiles(["CO", "C(", "c1ccccc1"])
    >>> np.diff(batch.node_ptr), list(batch.bad)
    (array([2, 0, 6]), [1])
    """
    bad: dict[int, str] = {}
    with quiet_rdkit(smiles[0] if smiles else "") as chem:
        mols = [_parsed(chem, text) if text.strip() else None for text in smiles]
        for place, text in enumerate(smiles):
            try:
                if mols[place] is None:
                    mols[place] = molecule_of_smiles(text)
                if standardize and not CHANGED_BY_STANDARDIZE.isdisjoint(text):
                    mols[place] = standardized(mols[place])
            except GraphError as error:
                bad[place] = error.explanation
    good = [place for place in range(len(mols)) if place not in bad]
    batch = joined(
        [(good, batch_from_molecules([mols[place] for place in good], stereo=stereo))], len(mols), bad
    )
    return replace(batch, graph_columns={"smiles": list(smiles)})


def batch_from_molecules(mols: Sequence[Any], *, standardize: bool = False, stereo: bool = False) -> RawBatch:
    """Convert RDKit molecules: nodes are atoms except hydrogens, edges are bonds.

    Atoms have the columns symbol, charge, aromatic, hydrogens (the number of them that belong to the atom),
    degree and hybridization. Bonds have type, conjugated and ring. Hydrogen atoms, deuterium included, become
    counts of their neighbors, as RDKit does for SMILES.

    Parameters
    ----------
    mols : sequence of RDKit molecules
    standardize : bool, default=False
        Use the largest organic fragment of each molecule, neutralized (RDKit's MolStandardize).
    stereo : bool, default=False
        Add the columns chirality and isotope of atoms and stereo of bonds. Deuterium atoms stay nodes.
    """
    if standardize:
        mols = [standardized(mol) for mol in mols]
    batch = _converted(mols)
    hydrogen = _with_hydrogen_atoms(batch)
    if hydrogen:
        mols = list(mols)
        for place in hydrogen:
            mols[place] = _without_hydrogens(mols[place], isotopes=not stereo)
        rest = sorted(set(range(len(mols))).difference(hydrogen))
        changed = _converted([mols[place] for place in hydrogen])
        batch = joined([(rest, batch.take(np.array(rest, np.int64))), (hydrogen, changed)], len(mols), {})
    return _with_stereo(batch, mols) if stereo else batch


def standardized(mol: Any) -> Any:
    """Return the largest organic fragment of a molecule, neutralized. Its name stays."""
    with quiet_rdkit(), _valid_molecule():
        chooser, uncharger = _standardizers()
        parent = uncharger.uncharge(chooser.choose(mol))
        if mol.HasProp("_Name"):
            parent.SetProp("_Name", mol.GetProp("_Name"))
        return parent


@cache
def _standardizers() -> tuple[Any, Any]:
    """Return what `standardized` uses. RDKit reads its tables when these are built, so it is done once."""
    from rdkit.Chem.MolStandardize.rdMolStandardize import LargestFragmentChooser, Uncharger

    return LargestFragmentChooser(preferOrganic=True), Uncharger()


def canonical_smiles(mol: Any) -> tuple[str, str, str]:
    """Return the canonical SMILES of a molecule, without its stereochemistry, and also without isotopes.

    Examples
    --------
    >>> canonical_smiles(molecule_of_smiles("[2H]C[C@H](N)O"))
    ('[2H]C[C@H](N)O', '[2H]CC(N)O', 'CC(N)O')
    """
    with quiet_rdkit() as chem:
        mol = _without_hydrogens(mol, isotopes=False)
        for atom in mol.GetAtoms():
            atom.SetAtomMapNum(0)
        flat = chem.Mol(mol)
        chem.RemoveStereochemistry(flat)
        plain = _without_hydrogens(flat, isotopes=True)
        return tuple(chem.MolToSmiles(each, isomericSmiles=each is not plain) for each in (mol, flat, plain))


def _without_hydrogens(mol: Any, *, isotopes: bool) -> Any:
    """Return a copy of a molecule whose hydrogen atoms (deuterium too with `isotopes`) are counts."""
    with quiet_rdkit() as chem:
        rules = chem.RemoveHsParameters()
        rules.removeIsotopes = isotopes
        try:
            return chem.RemoveHs(mol, rules)
        except (RuntimeError, ValueError):  # a molecule that RDKit cannot sanitize
            return chem.Mol(mol)


def _with_hydrogen_atoms(batch: RawBatch) -> list[int]:
    """Return the molecules that have nodes of hydrogen."""
    symbol = batch.node_columns.get("symbol")
    if symbol is None:
        return []
    if symbol.categories is None or "H" not in symbol.categories:
        return []
    nodes = np.flatnonzero(symbol.values == symbol.categories.index("H"))
    graphs: list[int] = np.unique(np.searchsorted(batch.node_ptr, nodes, side="right") - 1).tolist()
    return graphs


def _with_stereo(batch: RawBatch, mols: Sequence[Any]) -> RawBatch:
    """Add the labels of Cahn, Ingold and Prelog and the isotopes to the columns of molecules."""
    from rdkit.Chem import Mol
    from rdkit.Chem.rdCIPLabeler import AssignCIPLabels

    chirality, isotope, stereo = [], [], []
    for original in mols:
        mol = Mol(original)
        with suppress(RuntimeError):  # of a molecule with too many symmetries. Centers found so far stay
            AssignCIPLabels(mol, maxRecursiveIterations=MOST_ITERATIONS)
        atoms = list(mol.GetAtoms())
        chirality += [_label(atom) for atom in atoms]
        isotope += [str(atom.GetIsotope() or "none") for atom in atoms]
        stereo += [_label(mol.GetBondWithIdx(bond)) for bond in range(mol.GetNumBonds())]
    nodes = {"chirality": _category_of(chirality), "isotope": _category_of(isotope)}
    return replace(
        batch,
        node_columns={**batch.node_columns, **nodes},
        edge_columns={**batch.edge_columns, "stereo": _category_of(stereo)},
    )


def _label(item: Any) -> str:
    return str(item.GetProp("_CIPCode")) if item.HasProp("_CIPCode") else "none"


def _category_of(names: list[str]) -> RawColumn:
    categories, codes = np.unique(np.array(names, dtype=str), return_inverse=True)
    return RawColumn(codes.astype(np.int64), tuple(categories.tolist()))


def _converted(mols: Sequence[Any]) -> RawBatch:
    """Convert molecules with all their atoms."""
    small = [place for place, mol in enumerate(mols) if mol.GetNumAtoms() <= MOST_ATOMS]
    decoded, batch = _decoded(mols, small if len(small) >= LEAST_DECODED and _can_decode() else [])
    others = sorted(set(range(len(mols))).difference(decoded))
    if not others:
        return batch
    by_calls = RawBatch.of([raw_from_mol(mols[place]) for place in others])
    return joined([(decoded, batch), (others, by_calls)], len(mols), {}) if decoded else by_calls


def raw_from_mol(mol: Any) -> RawGraph:
    """Convert one RDKit molecule with all its atoms by calls. Columns as in `batch_from_molecules`."""
    atoms = [mol.GetAtomWithIdx(index) for index in range(mol.GetNumAtoms())]
    bonds = [mol.GetBondWithIdx(index) for index in range(mol.GetNumBonds())]
    edges = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in bonds]
    return RawGraph(
        n_nodes=len(atoms),
        edges=np.array(edges, dtype=np.int64).reshape(-1, 2),
        node_columns={
            "symbol": np.array([atom.GetSymbol() for atom in atoms], dtype=object),
            "charge": np.array([atom.GetFormalCharge() for atom in atoms], dtype=np.float64),
            "aromatic": np.array([atom.GetIsAromatic() for atom in atoms], dtype=np.float64),
            "hydrogens": np.array([atom.GetTotalNumHs() for atom in atoms], dtype=np.float64),
            "degree": np.array([atom.GetDegree() for atom in atoms], dtype=np.float64),
            "hybridization": np.array([str(atom.GetHybridization()) for atom in atoms], dtype=object),
        },
        edge_columns={
            "type": np.array([str(bond.GetBondType()) for bond in bonds], dtype=object),
            "conjugated": np.array([bond.GetIsConjugated() for bond in bonds], dtype=np.float64),
            "ring": np.array([bond.IsInRing() for bond in bonds], dtype=np.float64),
        },
        graph_id=mol.GetProp("_Name") if mol.HasProp("_Name") else None,
    )


def raw_from_smiles(smiles: str) -> RawGraph:
    """Read a SMILES string with RDKit and convert the molecule."""
    return batch_from_molecules([molecule_of_smiles(smiles)])[0]


def molecule_of_smiles(smiles: str) -> Any:
    """Read a SMILES string with RDKit, or raise a `GraphError` with the reason."""
    with quiet_rdkit(smiles) as chem:
        if not smiles.strip():
            raise GraphError("an empty string is not a molecule")
        mol = _parsed(chem, smiles)
        if mol is None:
            raise GraphError(f"{_shown(smiles)} is not a valid SMILES string: {_problem(chem, smiles)}")
    return mol


def _parsed(chem: Any, smiles: str) -> Any:
    try:
        return None if "\0" in smiles else chem.MolFromSmiles(smiles)  # RDKit 2024.9 stops there
    except (RuntimeError, ValueError):  # thrown by the C++ code of RDKit
        return None


def smiles_of_mol_block(block: str) -> str:
    """Return the SMILES of the structure in a MOL or SD file, V2000 or V3000."""
    with quiet_rdkit() as chem, _valid_molecule():
        mol = chem.MolFromMolBlock(block, sanitize=False)
        if mol is None:
            raise GraphError("the structure cannot be read")
        if not mol.GetNumAtoms():
            raise GraphError("the structure has no atoms")
        chem.SanitizeMol(mol)
        return str(chem.MolToSmiles(chem.RemoveHs(mol)))


@contextmanager
def quiet_rdkit(smiles: str | None = None) -> Iterator[Any]:
    """Give the module rdkit.Chem, which logs nothing meanwhile. `smiles` is for the error without it."""
    try:
        from rdkit import Chem, rdBase
    except ImportError:
        if smiles is None:
            raise ImportError("molecules need RDKit: pip install 'grnf[chem]'") from None
        raise GraphError(
            f"the string {_shown(smiles)} is read as SMILES, which needs RDKit: pip install 'grnf[chem]'"
        ) from None
    with rdBase.BlockLogs():
        yield Chem


def smiles_from_raw(graph: RawGraph) -> tuple[str, list[int]]:
    """Return the SMILES of a graph whose columns make a molecule, and the order in which it has the nodes.

    The graph must have the columns symbol of nodes and type of edges of `raw_from_mol`. Charge and hydrogens
    are optional. Without hydrogens the usual valences decide.

    Examples
    --------
    >>> smiles_from_raw(raw_from_smiles("OC=O"))
    ('OC=O', [0, 1, 2])
    """
    mol = molecule_of_raw(graph)
    with quiet_rdkit() as chem, _valid_molecule():
        smiles = chem.MolToSmiles(mol, canonical=False)
    return smiles, list(mol.GetPropsAsDict(True, True)["_smilesAtomOutputOrder"])


def molecule_of_raw(graph: RawGraph) -> Any:
    """Return the RDKit molecule of a graph whose columns make one, atoms in the order of its nodes."""
    if not graph.n_nodes:
        raise GraphError("not a molecule: it has no atoms")
    if "symbol" not in graph.node_columns:
        raise GraphError("not a molecule: a node column 'symbol' with the elements is missing")
    if len(graph.edges) and "type" not in graph.edge_columns:
        raise GraphError(
            "not a molecule: an edge column 'type' with SINGLE, DOUBLE, AROMATIC, ... is missing"
        )
    with quiet_rdkit() as chem, _valid_molecule():
        mol = chem.RWMol()
        _add_atoms(chem, mol, graph)
        _add_bonds(chem, mol, graph)
        chem.SanitizeMol(mol)
    return mol


@contextmanager
def _valid_molecule() -> Iterator[None]:
    """Raise a `GraphError` with the reason of RDKit."""
    try:
        yield
    except (RuntimeError, ValueError, TypeError, OverflowError) as error:
        reason = " ".join(f"{error}".split())
        raise GraphError(f"not a valid molecule: {reason or type(error).__name__}") from None


def _add_atoms(chem: Any, mol: Any, graph: RawGraph) -> None:
    columns = {name: np.asarray(values).tolist() for name, values in graph.node_columns.items()}
    for node, symbol in enumerate(columns["symbol"]):
        if not isinstance(symbol, str):
            raise GraphError(f"not a molecule: the symbol of node {node} is {symbol!r}")
        try:
            atom = chem.Atom(symbol)
        except RuntimeError:
            raise GraphError(
                f"not a molecule: node {node} has the symbol {symbol!r:.40}, not an element"
            ) from None
        if "charge" in columns:
            atom.SetFormalCharge(_whole(columns["charge"][node], "charge", node))
        if "hydrogens" in columns:
            atom.SetNumExplicitHs(_whole(columns["hydrogens"][node], "hydrogens", node))
            atom.SetNoImplicit(True)
        mol.AddAtom(atom)


def _add_bonds(chem: Any, mol: Any, graph: RawGraph) -> None:
    types = np.asarray(graph.edge_columns.get("type", [])).tolist()
    for row, (ends, kind) in enumerate(zip(graph.edges.tolist(), types, strict=True)):
        if kind not in chem.BondType.names:
            raise GraphError(f"not a molecule: edge {row} has the type {kind!r:.40}, not SINGLE, DOUBLE, ...")
        mol.AddBond(*ends, chem.BondType.names[kind])
        if kind == "AROMATIC":
            mol.GetBondBetweenAtoms(*ends).SetIsAromatic(True)
            for end in ends:
                mol.GetAtomWithIdx(end).SetIsAromatic(True)


def _whole(value: Any, name: str, node: int) -> int:
    if not isinstance(value, (int, float)) or value != value or int(value) != value:
        raise GraphError(f"not a molecule: {name} of node {node} is {value!r}, not a whole number")
    return int(value)


def _problem(chem: Any, smiles: str) -> str:
    """Return why RDKit refuses a string."""
    try:
        mol = chem.MolFromSmiles(smiles, sanitize=False)
    except (RuntimeError, ValueError) as error:
        return f"RDKit fails: {error}"
    if mol is None:
        return "its syntax is wrong"
    problems = chem.DetectChemistryProblems(mol)
    return problems[0].Message() if problems else "RDKit cannot make a molecule of it"


def _shown(smiles: str) -> str:
    return repr(smiles if len(smiles) <= 80 else smiles[:77] + "...")


@cache
def _can_decode() -> bool:
    """Whether decoding agrees with the calls of the installed version of RDKit."""
    try:
        mols = [molecule_of_smiles(text) for text in UNUSUAL]
        decoded, batch = _decoded(mols, list(range(len(mols))))
    except (GraphError, ValueError, IndexError, RuntimeError, OverflowError):
        return False
    return len(decoded) == len(mols) and all(_same(batch[i], raw_from_mol(mol)) for i, mol in enumerate(mols))


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


def _decoded(mols: Sequence[Any], places: list[int]) -> tuple[list[int], RawBatch]:
    """Decode the molecules at these places, if possible. Return the places of those that were decoded."""
    if not places:
        return [], RawBatch.empty()
    own = [mols[place] for place in places]
    walk = _Walk([mol.ToBinary(0) for mol in own])
    if not walk.good.all():
        fine = zip(places, walk.good.tolist(), strict=True)
        return _decoded(mols, [place for place, is_good in fine if is_good])
    return places, _batch(own, walk)


class _Walk:
    """Binary molecules, read in step: tables of atoms and bonds, and which molecules could be read."""

    def __init__(self, binaries: list[bytes]) -> None:
        head = binaries[0][:HEAD]
        lengths = np.array([len(binary) for binary in binaries])
        self.data = np.frombuffer(b"".join(binaries) + bytes(64), dtype=np.uint8).astype(np.int64)
        self.cursor = np.cumsum(lengths) - lengths
        self.good = np.array([binary.startswith(head) for binary in binaries])
        self.n_atoms = self._four_bytes(self.cursor + HEAD)
        self.n_bonds = self._four_bytes(self.cursor + HEAD + 4)
        self.good &= (self.data[self.cursor + HEAD + 8] == 0x80) & (self.data[self.cursor + HEAD + 9] == 1)
        self.cursor += HEAD + 10
        self.last = len(self.data) - 32
        self.atom_ptr, self.bond_ptr = offsets(self.n_atoms), offsets(self.n_bonds)
        self.number, self.aromatic, self.charge, self.hydrogens, self.hybridization = self._atoms()
        self.good &= self.data[self.cursor] == BONDS
        self.cursor += 1
        first, second, self.kind, self.conjugated = self._bonds()
        self.cursor = np.minimum(self.cursor, self.last)
        self.ends = np.column_stack([first, second])
        self.in_ring = self._in_ring()

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

    def _atoms(self) -> IntArray:
        data = self.data
        table = np.zeros((5, int(self.n_atoms.sum())), np.int64)
        for some, row in self._steps(self.n_atoms):
            at = np.minimum(self.cursor[some], self.last)
            flags, more = data[at + 1], data[at + 2] + (data[at + 3] << 8)
            strange = ((flags & ~0x60) != 0) | ((more & ~0x1FE) != 0) | (data[at + 4] + data[at + 5] != 0)
            self.good[some[strange]] = False
            table[0, row], table[1, row] = data[at], (flags >> 6) & 1
            at = at + 6
            has = (more >> 1) & 1
            table[2, row] = has * ((data[at] ^ 0x80) - 0x80)  # a signed byte
            at = at + has + ((more >> 2) & 1)  # chirality is not used
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
        return table

    def _bonds(self) -> IntArray:
        data = self.data
        table = np.zeros((4, int(self.n_bonds.sum())), np.int64)
        for some, row in self._steps(self.n_bonds):
            at = np.minimum(self.cursor[some], self.last)
            flags = data[at + 2]
            self.good[some[(flags & 0x91) != 0]] = False
            table[0, row], table[1, row], table[3, row] = data[at], data[at + 1], (flags >> 5) & 1
            has = (flags >> 3) & 1
            table[2, row] = np.where(has, data[at + 3], SINGLE)
            at = at + 3 + has + ((flags >> 2) & 1)
            stereo = (flags >> 1) & 1
            self.cursor[some] = at + stereo * (2 + data[np.minimum(at + 1, self.last)])
        return table

    def _in_ring(self) -> FloatArray:
        """Return 1 for bonds whose ends are neighbors in one of the rings, which are lists of atoms."""
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
        ptr = self.atom_ptr
        first = ptr[np.repeat(np.concatenate(molecules), size)]
        most = len(self.data) - 1
        around = np.column_stack([self.data[np.minimum(at, most)] + first for at in (place, following)])
        ends = self.ends + np.repeat(ptr[:-1], self.n_bonds)[:, np.newaxis]
        keys = [np.sort(pairs, axis=1) @ np.array([int(ptr[-1]) + 1, 1]) for pairs in (ends, around)]
        return np.isin(*keys).astype(np.float64)


def _batch(mols: list[Any], walk: _Walk) -> RawBatch:
    from rdkit import Chem

    first = np.repeat(walk.atom_ptr[:-1], walk.n_bonds)
    degree = np.bincount((walk.ends + first[:, np.newaxis]).ravel(), minlength=len(walk.number))
    symbol = Chem.GetPeriodicTable().GetElementSymbol
    hybridization, kind = Chem.HybridizationType.values, Chem.BondType.values
    return RawBatch(
        walk.atom_ptr,
        walk.bond_ptr,
        walk.ends,
        {
            "symbol": _category(walk.number, symbol),
            "charge": RawColumn(walk.charge.astype(np.float64)),
            "aromatic": RawColumn(walk.aromatic.astype(np.float64)),
            "hydrogens": RawColumn(walk.hydrogens.astype(np.float64)),
            "degree": RawColumn(degree.astype(np.float64)),
            "hybridization": _category(walk.hybridization, lambda code: str(hybridization[code])),
        },
        {
            "type": _category(walk.kind, lambda code: str(kind[code])),
            "conjugated": RawColumn(walk.conjugated.astype(np.float64)),
            "ring": RawColumn(walk.in_ring),
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
