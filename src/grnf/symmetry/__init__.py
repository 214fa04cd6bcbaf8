"""Symmetries of graphs: refined colors, trees of individualized nodes, automorphisms, certificates."""

from grnf.symmetry.certificate import LIMIT, Answer, Certificate, certificates, compare_graphs, node_codes

__all__ = ["LIMIT", "Answer", "Certificate", "certificates", "compare_graphs", "node_codes"]
