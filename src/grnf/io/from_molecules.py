"""Molecules: RDKit objects and SMILES strings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from grnf._utils.arrays import offsets
from grnf.errors import GraphError
from grnf.io.raw import RawBatch, RawGraph, column_of_values, joined

MOST_ITERATIONS = 1_250_000
"""Steps of the labels of Cahn, Ingold and Prelog in one molecule, as RDKit recommends: about a second."""
CHANGED_BY_STANDARDIZE = frozenset(".+-")
"""Characters of which a SMILES has at least one if `standardized` can change its molecule."""


def batch_from_smiles(smiles: Sequence[str], *, standardize: bool = False, stereo: bool = False) -> RawBatch:
    """Read SMILES strings with RDKit. Invalid ones are bad graphs of the batch.

    Parameters are those of `batch_from_molecules`. The graph column "smiles" has the strings unchanged.
    """
    bad: dict[int, str] = {}

    def molecules() -> Iterator[Any]:  # one at a time, while it is in the cache of the processor
        for place, text in enumerate(smiles):
            try:
                mol = _molecule(chem, text)
                changed = standardize and not CHANGED_BY_STANDARDIZE.isdisjoint(text)
                yield standardized(mol) if changed else mol
            except GraphError as error:
                bad[place] = error.explanation

    with quiet_rdkit(smiles[0] if smiles else "") as chem:
        batch = batch_from_molecules(molecules(), stereo=stereo)
    good = [place for place in range(len(smiles)) if place not in bad]
    return replace(joined([(good, batch)], len(smiles), bad), graph_columns={"smiles": list(smiles)})


def batch_from_molecules(mols: Iterable[Any], *, standardize: bool = False, stereo: bool = False) -> RawBatch:
    """Convert RDKit molecules: nodes are atoms except hydrogens, edges are bonds.

    Atoms have the columns symbol, charge, aromatic, hydrogens (the number of them that belong to the atom),
    degree and hybridization. Bonds have type, conjugated and ring. Hydrogen atoms, deuterium included, become
    counts of their neighbors, as RDKit does for SMILES.

    Parameters
    ----------
    mols : iterable of RDKit molecules
    standardize : bool, default=False
        Use the largest organic fragment of each molecule, neutralized (RDKit's MolStandardize).
    stereo : bool, default=False
        Add the columns chirality and isotope of atoms and stereo of bonds. Deuterium atoms stay nodes.
    """
    with quiet_rdkit() as chem:
        hydrogen = chem.MolFromSmarts("[#1]")
    node_readers = {
        "symbol": chem.Atom.GetSymbol,
        "charge": chem.Atom.GetFormalCharge,
        "aromatic": chem.Atom.GetIsAromatic,
        "hydrogens": chem.Atom.GetTotalNumHs,
        "degree": chem.Atom.GetDegree,
        "hybridization": chem.Atom.GetHybridization,
    }
    edge_readers = {
        "begin": chem.Bond.GetBeginAtomIdx,
        "end": chem.Bond.GetEndAtomIdx,
        "type": chem.Bond.GetBondType,
        "conjugated": chem.Bond.GetIsConjugated,
        "ring": chem.Bond.IsInRing,
    }
    if stereo:
        node_readers |= {"chirality": _label, "isotope": _isotope}
        edge_readers |= {"stereo": _label}
    nodes: dict[str, list[Any]] = {name: [] for name in node_readers}
    edges: dict[str, list[Any]] = {name: [] for name in edge_readers}
    n_nodes, n_edges, names = [], [], []
    for given in mols:  # RDKit makes an object of each atom. Those of one molecule are enough at a time
        mol = standardized(given) if standardize else given
        if mol.GetNumHeavyAtoms() < mol.GetNumAtoms() and mol.HasSubstructMatch(hydrogen):
            mol = _without_hydrogens(mol, isotopes=not stereo)
        if stereo:
            mol = _with_labels(mol)
        n_nodes.append(mol.GetNumAtoms())
        n_edges.append(mol.GetNumBonds())
        names.append(mol.GetProp("_Name") if mol.HasProp("_Name") else None)
        atoms = list(map(mol.GetAtomWithIdx, range(n_nodes[-1])))
        bonds = list(map(mol.GetBondWithIdx, range(n_edges[-1])))
        for read, values in zip(node_readers.values(), nodes.values(), strict=True):
            values.extend(map(read, atoms))
        for read, values in zip(edge_readers.values(), edges.values(), strict=True):
            values.extend(map(read, bonds))
    for values, kinds in ((nodes["hybridization"], chem.HybridizationType), (edges["type"], chem.BondType)):
        kind_names = {kind: name for name, kind in kinds.names.items()}
        values[:] = map(kind_names.get, values)
    node_ptr, edge_ptr = offsets(n_nodes), offsets(n_edges)
    ends = edges.pop("begin"), edges.pop("end")
    return RawBatch(
        node_ptr,
        edge_ptr,
        np.array(ends, np.int64).T.copy(),
        {name: column_of_values(values, node_ptr) for name, values in nodes.items()},
        {name: column_of_values(values, edge_ptr) for name, values in edges.items()},
        np.zeros(len(names), np.bool_),
        names,
        [None] * len(names),
    )


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
    """Return the canonical SMILES of a molecule, without its stereochemistry, and also without isotopes."""
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


def _with_labels(mol: Any) -> Any:
    """Return a copy of a molecule with the labels of Cahn, Ingold and Prelog."""
    from rdkit.Chem import Mol
    from rdkit.Chem.rdCIPLabeler import AssignCIPLabels

    mol = Mol(mol)
    with suppress(RuntimeError):  # of a molecule with too many symmetries. Centers found so far stay
        AssignCIPLabels(mol, maxRecursiveIterations=MOST_ITERATIONS)
    return mol


def _label(item: Any) -> str:
    return str(item.GetProp("_CIPCode")) if item.HasProp("_CIPCode") else "none"


def _isotope(atom: Any) -> str:
    return str(atom.GetIsotope() or "none")


def raw_from_smiles(smiles: str) -> RawGraph:
    """Read a SMILES string with RDKit and convert the molecule."""
    return batch_from_molecules([molecule_of_smiles(smiles)])[0]


def molecule_of_smiles(smiles: str) -> Any:
    """Read a SMILES string with RDKit, or raise a `GraphError` with the reason."""
    with quiet_rdkit(smiles) as chem:
        return _molecule(chem, smiles)


def _molecule(chem: Any, smiles: str) -> Any:
    if not smiles.strip():
        raise GraphError("an empty string is not a molecule")
    mol = None
    with suppress(RuntimeError, ValueError):  # thrown by the C++ code of RDKit
        mol = None if "\0" in smiles else chem.MolFromSmiles(smiles)  # RDKit 2024.9 stops there
    if mol is None:
        raise GraphError(f"{_shown(smiles)} is not a valid SMILES string: {_problem(chem, smiles)}")
    return mol


def smiles_of_mol_block(block: str) -> str:
    """Return the SMILES of the structure in a MOL or SD file, V2000 or V3000."""
    with quiet_rdkit() as chem, _valid_molecule():
        mol = chem.MolFromMolBlock(block, sanitize=False)
        if mol is None:
            raise GraphError("not a valid molecule: the structure cannot be read")
        if not mol.GetNumAtoms():
            raise GraphError("not a valid molecule: the structure has no atoms")
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

    The graph must have the columns symbol of nodes and type of edges, as `batch_from_molecules` makes them.
    Charge and hydrogens are optional. Without hydrogens the usual valences decide.
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
    columns = {name: np.asarray(values).tolist() for name, values in graph.node_columns.items()}
    types = np.asarray(graph.edge_columns.get("type", [])).tolist()
    with quiet_rdkit() as chem, _valid_molecule():
        mol = chem.RWMol()
        for node, symbol in enumerate(columns["symbol"]):
            try:
                atom = chem.Atom(symbol if isinstance(symbol, str) else "")
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
        for row, (ends, kind) in enumerate(zip(graph.edges.tolist(), types, strict=True)):
            if kind not in chem.BondType.names:
                raise GraphError(
                    f"not a molecule: edge {row} has the type {kind!r:.40}, not SINGLE, DOUBLE, ..."
                )
            mol.AddBond(*ends, chem.BondType.names[kind])
            if kind == "AROMATIC":
                mol.GetBondBetweenAtoms(*ends).SetIsAromatic(True)
                for end in ends:
                    mol.GetAtomWithIdx(end).SetIsAromatic(True)
        chem.SanitizeMol(mol)
    return mol


@contextmanager
def _valid_molecule() -> Iterator[None]:
    """Raise a `GraphError` with the reason of RDKit."""
    try:
        yield
    except GraphError:
        raise
    except (RuntimeError, ValueError, TypeError, OverflowError) as error:
        reason = " ".join(f"{error}".split())
        raise GraphError(f"not a valid molecule: {reason or type(error).__name__}") from None


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
