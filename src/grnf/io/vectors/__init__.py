"""Embeddings as files: .parquet, .npy, .npz, .csv, or folders of shards, written by resumable runs."""

from grnf.io.vectors.blocks import VectorBlock, Vectors
from grnf.io.vectors.formats import VECTOR_FORMATS, vector_format, write_csv
from grnf.io.vectors.read import holds_vectors, molecule_options, read_vectors, shard_files
from grnf.io.vectors.writer import ShardWriter, is_shard_folder, side_file, write_vectors

__all__ = [
    "VECTOR_FORMATS", "ShardWriter", "VectorBlock", "Vectors", "holds_vectors", "is_shard_folder",
    "molecule_options", "read_vectors", "shard_files", "side_file", "vector_format", "write_csv",
    "write_vectors",
]  # fmt: skip
