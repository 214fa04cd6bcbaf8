"""How many graphs are new: classes of isomorphic graphs among generated ones, and those that were known."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from grnf.graphs import GraphBatch
from grnf.symmetry import Certificate, certificates

__all__ = ["Copies", "copies_among"]


@dataclass(frozen=True)
class Copies:
    """What certificates say about generated graphs.

    Parameters
    ----------
    n : int
        Generated graphs.
    distinct : int
        Classes of isomorphic graphs among them.
    novel : int
        Graphs that are isomorphic to no graph of the reference.
    undecided : int
        Graphs that may be isomorphic to another one, which was not decided: they count as distinct and novel.
    """

    n: int
    distinct: int
    novel: int
    undecided: int


def copies_among(generated: GraphBatch, reference: GraphBatch) -> Copies:
    """Count classes of isomorphic graphs, attributes and directions included. Columns must be the same.

    Examples
    --------
    >>> from grnf import Graph
    >>> path, triangle = Graph(3, [(0, 1), (1, 2)]), Graph(3, [(0, 1), (1, 2), (2, 0)])
    >>> one = GraphBatch.from_graphs([path, path.permuted([1, 0, 2]), triangle])
    >>> copies_among(one, GraphBatch.from_graphs([triangle]))
    Copies(n=3, distinct=2, novel=2, undecided=0)
    """
    made, known = _certificates(generated, reference)
    forms = {certificate.form for certificate in known}
    unclear: dict[int, set[bytes]] = {}
    for certificate in (*made, *known):
        unclear.setdefault(certificate.value, set()).add(certificate.form)
    novel = [certificate for certificate in made if certificate.form not in forms]
    undecided = sum(_in_doubt(certificate, unclear) for certificate in made)
    return Copies(len(made), len({certificate.form for certificate in made}), len(novel), undecided)


def _in_doubt(certificate: Certificate, unclear: dict[int, set[bytes]]) -> bool:
    """Whether there is another form of the same value, and the tree was not finished."""
    return not certificate.finished and len(unclear[certificate.value]) > 1


def _certificates(*batches: GraphBatch) -> list[list[Certificate]]:
    """Return the certificates of the graphs of each batch, of as many levels as it takes.

    Most graphs are told apart by level 0; only those that are not are looked at again.
    """
    found = [certificates(batch, depth=0) for batch in batches]
    times = Counter(certificate.value for batch in found for certificate in batch)
    for batch, firsts in zip(batches, found, strict=True):
        again = [i for i, one in enumerate(firsts) if times[one.value] > 1 and not one.finished]
        for i, certificate in zip(again, certificates(batch.take(again)), strict=True):
            firsts[i] = certificate
    return found
