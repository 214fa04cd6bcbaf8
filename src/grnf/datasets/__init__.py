"""Synthetic collections of graphs, drawn afresh from a seed."""

from grnf.datasets.synthetic import make_delaunay, make_sbm

__all__ = ["make_delaunay", "make_sbm"]
