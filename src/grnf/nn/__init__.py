"""GRNF as a layer of PyTorch networks: the same vectors, with gradients. Needs the extra `torch`."""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError("grnf.nn needs PyTorch: pip install 'grnf[torch]'") from error

from typing import Any

from grnf.nn.layer import GRNFLayer

__all__ = ["GRNFAggregation", "GRNFEncoder", "GRNFLayer", "LiftTransform"]


def __getattr__(name: str) -> Any:
    """Import what needs PyTorch Geometric when it is used."""
    if name in __all__:
        from grnf.nn import geometric

        return getattr(geometric, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
