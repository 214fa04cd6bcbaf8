"""Colours of nodes as channels of their own, or as random numbers: what lifts that colour nodes share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from grnf._utils.hashing import GOLDEN, mix
from grnf.graphs import Codes, GraphBatch, number_keys
from grnf.io.encode import AttributeEncoder
from grnf.lifts.base import Lift, pieces
from grnf.typing import FloatArray, Keys

__all__ = ["ColourLift"]


class ColourLift(Lift):
    """A lift that gives each node colours: 64-bit numbers that are equal or different and nothing else."""

    dim: int | None
    seed: int

    def _colours(self, batch: GraphBatch) -> list[Keys]:
        """Return some colours of all nodes."""
        raise NotImplementedError

    def _blank_encoder(self) -> AttributeEncoder:
        return AttributeEncoder(unseen="open")

    def _lifted(self, batch: GraphBatch) -> GraphBatch:
        found = [self._colours(piece) for piece in pieces(batch)]
        colours = [np.concatenate(some) for some in zip(*found, strict=True)]
        width = batch.node_width + batch.node_codes.values.shape[1]
        name = f"{type(self).__name__} after {width}"  # a lift may come twice in a chain
        if self.dim is not None:
            numbers = np.hstack([_numbers(colour, self.dim, self.seed) for colour in colours])
            keys = number_keys("node", numbers.shape[1], name)
            return replace(
                batch,
                node_attr=np.hstack([batch.node_attr, numbers]),
                node_keys=np.concatenate([batch.node_keys, keys]),
            )
        codes = batch.node_codes
        for colour, key in zip(colours, number_keys("node", len(colours), name), strict=True):
            codes = _with_column(codes, colour ^ key)
        return replace(batch, node_codes=codes)


def _with_column(codes: Codes, column: Keys) -> Codes:
    """Return categories with one more column, of these keys mixed."""
    own, place = np.unique(mix(column), return_inverse=True)
    keys = np.union1d(codes.keys, own)
    values = np.column_stack([codes.among(keys).values, np.searchsorted(keys, own)[place]])
    return Codes(values, keys)


def _numbers(colours: Keys, dim: int, seed: int) -> FloatArray:
    """Return `dim` normal numbers of variance 1 / dim for each colour, by Box and Muller."""
    distinct, place = np.unique(colours, return_inverse=True)
    keyed = mix(distinct ^ mix(np.array([seed], dtype=np.uint64)))
    counters = np.arange(1, 2 * dim + 1, dtype=np.uint64) * GOLDEN
    uniform = (mix(keyed[:, np.newaxis] + counters) >> np.uint64(11)) * 2.0**-53
    radius = np.sqrt(-2 * np.log1p(-uniform[:, :dim]))
    codes = radius * np.cos(2 * np.pi * uniform[:, dim:]) / np.sqrt(dim)
    return np.asarray(codes[place])
