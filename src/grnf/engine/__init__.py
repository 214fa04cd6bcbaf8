"""Fast loops for U_1, U_2, .. U_B: arrays in, arrays out; no checks, no randomness."""

from grnf.engine.plan import Channels, Engine, Piece, estimated_seconds, pieces

__all__ = ["Channels", "Engine", "Piece", "estimated_seconds", "pieces"]
