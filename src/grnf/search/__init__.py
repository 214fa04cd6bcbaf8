"""Which graphs are near this one, exactly, and which are copies."""

from grnf.search.hits import Hits
from grnf.search.index import GraphIndex

__all__ = ["GraphIndex", "Hits"]
