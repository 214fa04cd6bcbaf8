"""Lifts: permutation-equivariant maps from graphs to graphs that add channels and keep the existing ones.

>>> from sklearn.pipeline import make_pipeline
>>> from grnf import GRNF, Graph
>>> model = make_pipeline(Degree(), Propagate(hops=2), GRNF(64, random_state=0))
>>> model.fit_transform([Graph(3, [(0, 1), (1, 2)])]).shape
(1, 64)
"""

from grnf.lifts.attributes import Encode, Standardize
from grnf.lifts.base import EdgeLift, Lift, NodeLift
from grnf.lifts.edges import ClosedWalks, Distance, Resistance
from grnf.lifts.labels import Individualize, WeisfeilerLehman
from grnf.lifts.nodes import Degree, Pool, Propagate, RandomWalk, Size, Triangles

__all__ = [
    "ClosedWalks",
    "Degree",
    "Distance",
    "EdgeLift",
    "Encode",
    "Individualize",
    "Lift",
    "NodeLift",
    "Pool",
    "Propagate",
    "RandomWalk",
    "Resistance",
    "Size",
    "Standardize",
    "Triangles",
    "WeisfeilerLehman",
]
