"""Embeddings as files: .parquet, .npy, .npz and .csv, block by block, all or nothing, and resumable."""

from grnf.io.vectors.blocks import VectorBlock
from grnf.io.vectors.parts import Parts
from grnf.io.vectors.read import Vectors, holds_vectors, read_vectors
from grnf.io.vectors.shards import shard_files
from grnf.io.vectors.write import (
    VECTOR_FORMATS,
    side_file,
    vector_format,
    vectors_written,
    write_csv,
    write_vectors,
)

__all__ = [
    "VECTOR_FORMATS",
    "Parts",
    "VectorBlock",
    "Vectors",
    "holds_vectors",
    "read_vectors",
    "shard_files",
    "side_file",
    "vector_format",
    "vectors_written",
    "write_csv",
    "write_vectors",
]
