"""Fast loops for U_1, U_2, .. U_B: arrays in, arrays out; no checks, no randomness."""

from grnf.engine.plan import Channels, Engine, Piece, n_terms, pieces

__all__ = ["Channels", "Engine", "Piece", "n_terms", "pieces"]
