"""
Fingerprint libraries: scikit-fingerprints and molfeat
======================================================

GRNF vectors next to the fingerprints of scikit-fingerprints in one scikit-learn pipeline, and as a calculator
of molfeat. Install both with ``pip install scikit-fingerprints molfeat``.

Run it with ``python examples/molecule_libraries.py``.
"""

# sphinx_gallery_thumbnail_path = 'figures/compare-molecules.png'

import numpy as np
from rdkit import Chem
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline, make_union

from grnf import JointFeatures

SMILES = ["CCO", "CCCO", "CCCCO", "CC(C)O", "c1ccccc1", "Cc1ccccc1", "CCN", "CCCN", "CC(=O)O", "CCC(=O)O"]
CARBON_ATOMS = np.array([text.upper().count("C") for text in SMILES], dtype=float)


# %%
# One pipeline
# ------------
# Fingerprints of scikit-fingerprints and vectors of `JointFeatures` are columns of the same table. Both take
# SMILES strings.


def side_by_side():
    """Return a pipeline that learns from both kinds of columns."""
    from skfp.fingerprints import ECFPFingerprint

    features = make_union(ECFPFingerprint(fp_size=256), JointFeatures(random_state=0))
    return make_pipeline(features, Ridge(1.0))


# %%
# A calculator
# ------------
# molfeat calls a calculator with one molecule at a time, so the transformer is fitted before. The class
# `MoleculeTransformer` of molfeat accepts the object.


class GRNFCalculator:
    """Vectors of molecules by a transformer that was fitted to `molecules`."""

    def __init__(self, molecules):
        self.transformer = JointFeatures(random_state=0).fit(molecules)

    def __call__(self, molecule, **_):
        if isinstance(molecule, str):
            molecule = Chem.MolFromSmiles(molecule)
        return self.transformer.transform([molecule])[0]

    def __len__(self):
        return len(self.columns)

    @property
    def columns(self):
        return list(self.transformer.get_feature_names_out())


def by_molfeat():
    """Return a molfeat transformer with this calculator."""
    from molfeat.trans import MoleculeTransformer

    return MoleculeTransformer(GRNFCalculator(SMILES), dtype=np.float64)


if __name__ == "__main__":
    model = side_by_side().fit(SMILES, CARBON_ATOMS)
    print(f"largest error in training: {np.abs(model.predict(SMILES) - CARBON_ATOMS).max():.2f} atoms")
    print(f"molfeat: {np.stack(by_molfeat()(SMILES)).shape}")
