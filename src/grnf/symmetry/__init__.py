"""Symmetries of graphs: refined colors, trees of individualized nodes, automorphisms, certificates."""

from grnf.symmetry.certificate import Certificate, certificates, compare_graphs, node_codes

__all__ = ["Certificate", "certificates", "compare_graphs", "node_codes"]
