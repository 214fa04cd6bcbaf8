"""Symmetries of graphs: refined colors, trees of individualized nodes, automorphisms, certificates."""

from grnf.symmetry.certificate import (
    NODES_PER_LEVEL,
    Certificate,
    Verdict,
    certificates,
    compare_graphs,
    node_codes,
)

__all__ = ["NODES_PER_LEVEL", "Certificate", "Verdict", "certificates", "compare_graphs", "node_codes"]
