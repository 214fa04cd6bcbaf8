"""d_P, kappa_P and M(eps, delta): distances with error bars, kernels, and the bounds that size them."""

from grnf.metric.bounds import error_bound, required_dimension, truncation_bias
from grnf.metric.estimate import DistanceEstimate, KernelEstimate, distance, kernel_estimate
from grnf.metric.exact import exact_distance, exact_distances, exact_kernel
from grnf.metric.marginal import marginal_distance, marginal_kernel
from grnf.metric.pairwise import (
    distances_from_kernel,
    kernel_from_distances,
    pairwise_distances,
    pairwise_kernels,
)

__all__ = [
    "DistanceEstimate",
    "KernelEstimate",
    "distance",
    "distances_from_kernel",
    "error_bound",
    "exact_distance",
    "exact_distances",
    "exact_kernel",
    "kernel_estimate",
    "kernel_from_distances",
    "marginal_distance",
    "marginal_kernel",
    "pairwise_distances",
    "pairwise_kernels",
    "required_dimension",
    "truncation_bias",
]
