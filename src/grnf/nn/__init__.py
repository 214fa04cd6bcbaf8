"""GRNF as a layer of PyTorch networks: the same vectors, with gradients. Needs the extra `torch`."""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError("grnf.nn needs PyTorch: pip install 'grnf[torch]'") from error

from grnf.nn.layer import GRNFLayer

__all__ = ["GRNFLayer"]
