"""From the arguments of `forward` to tensors of known shapes, and from these to the graphs of the engine."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import numpy as np
import torch
from torch import Tensor

from grnf.errors import GraphError
from grnf.graphs import GraphBatch
from grnf.typing import IntArray


class Inputs(NamedTuple):
    """Shapes: x (N, node channels), arcs (2, E), values (E, edge channels), batch (N,)."""

    x: Tensor
    arcs: Tensor
    values: Tensor
    batch: Tensor
    n_graphs: int


ARGUMENTS = {"x": "in_channels", "edge_attr": "edge_dim"}
"""The argument of the layer that gives the number of columns."""


def refuse(reason: str) -> NoReturn:
    """Raise a `GraphError`, or under torch.compile, which cannot trace its class, an `AssertionError`."""
    if torch.compiler.is_compiling():
        torch._assert(False, reason)  # type: ignore[no-untyped-call]  # shown while the layer is traced
    raise GraphError(reason)


def _is_data(x: Any) -> bool:
    """Whether this is a PyTorch Geometric `Data` or `Batch`, and not a tensor of node attributes."""
    if x is None or isinstance(x, Tensor):
        return False
    if hasattr(x, "num_nodes"):
        return True
    refuse(
        f"the layer takes tensors, or a Data or Batch of PyTorch Geometric, got {type(x).__name__}. "
        "Other graphs go through grnf.GRNF"
    )


def _parts_of_data(data: Any) -> tuple[Any, ...]:
    """Return the tensors of a PyTorch Geometric `Data` or `Batch`, with `edge_weight` before `edge_attr`."""
    if hasattr(data, "node_types"):
        refuse("a graph with several types of nodes must be made one by to_homogeneous()")
    if data.edge_index is None and getattr(data, "adj_t", None) is not None:
        refuse("data has adj_t but no edge_index. Leave out the transform ToSparseTensor")
    x, batch = getattr(data, "x", None), getattr(data, "batch", None)
    given = [getattr(data, name, None) for name in ("edge_weight", "edge_attr")]
    columns = [_two_axes(column, "edge_attr") for column in given if column is not None]
    n_graphs = None if batch is None else getattr(data, "num_graphs", None)
    n_nodes = None if data.num_nodes is None else int(data.num_nodes)
    return x, data.edge_index, torch.cat(columns, dim=1) if columns else None, batch, n_graphs, n_nodes


def checked_inputs(x: Any, *more: Any, widths: tuple[int, int], like: Tensor) -> Inputs:
    """Return the arguments of `forward` in one form, in the precision of `like`, None for absent ones."""
    parts = _parts_of_data(x) if _is_data(x) else (x, *more, None)
    x, edge_index, edge_attr, batch, batch_size, n_nodes = parts
    device = like.device
    arcs = torch.empty(2, 0, dtype=torch.long, device=device)
    if edge_index is not None:
        arcs = _checked_arcs(edge_index)
    n = _number_of_nodes(x, arcs, batch, n_nodes)
    x = _attributes(x, n, widths[0], "x", "node", like)
    values = _attributes(edge_attr, arcs.shape[1], widths[1], "edge_attr", "edge", like)
    if batch is None:
        if batch_size not in (None, 1):
            refuse(f"batch_size is {batch_size}, but without batch all nodes are of one graph")
        batch, n_graphs = torch.zeros(n, dtype=torch.long, device=device), 1
    else:
        if batch.shape != (n,) or batch.is_floating_point():
            refuse(f"batch must hold the number of its graph for each of {n} nodes, got {_of(batch)}")
        batch = batch.long()
        n_graphs = _after_last(batch) if batch_size is None else int(batch_size)
    return Inputs(x, arcs, values, batch, n_graphs)


def _after_last(numbers: Tensor) -> int:
    return int(numbers.max()) + 1 if numbers.numel() else 0


def _number_of_nodes(x: Tensor | None, arcs: Tensor, batch: Tensor | None, n_nodes: int | None) -> int:
    if x is not None:
        return x.shape[0]  # len would make it a constant of torch.export
    if batch is not None:
        return batch.shape[0]
    if n_nodes is not None:
        return n_nodes
    return _after_last(arcs)


def _checked_arcs(edge_index: Tensor) -> Tensor:
    if edge_index.dim() != 2 or edge_index.shape[0] != 2 or edge_index.is_floating_point():
        hint = ". Transpose it" if edge_index.shape[1:] == (2,) and edge_index.shape[0] != 2 else ""
        refuse(f"edge_index must hold integers, shape (2, n_edges), got {_of(edge_index)}{hint}")
    return edge_index.long()


def _two_axes(values: Tensor, name: str) -> Tensor:
    if values.dim() == 1:
        return values[:, None]
    if values.dim() != 2:
        refuse(f"{name} must have one or two axes, got {_of(values)}")
    return values


def _attributes(values: Tensor | None, count: int, width: int, name: str, item: str, like: Tensor) -> Tensor:
    if values is None:
        if width and count:
            refuse(f"{name} is None, but the layer has {ARGUMENTS[name]}={width}. Pass {name}")
        return like.new_zeros(count, width)
    values = _two_axes(values, name)
    if values.shape[0] != count:
        refuse(f"{name} must have one row per {item}: {count}, got {_of(values)}")
    if values.shape[1] != width:
        refuse(
            f"{name} must have {width} columns, as many as {ARGUMENTS[name]} of the layer, got "
            f"{values.shape[1]}. Create the layer with {ARGUMENTS[name]}={values.shape[1]}"
            + ("" if width else f", or pass {name}=None")
        )
    return values.to(dtype=like.dtype)


def _of(values: Tensor) -> str:
    return f"{values.dtype} of shape {tuple(values.shape)}"


def check_graphs(inputs: Inputs) -> None:
    """Check the numbers of nodes and graphs, except while torch traces, when they are not known."""
    x, arcs, _, batch, n_graphs = inputs
    if x.is_meta or torch.compiler.is_compiling():
        return
    if len(batch):
        low, high = (int(number) for number in batch.aminmax())
        if low < 0 or high >= n_graphs:
            refuse(f"batch holds numbers from {low} to {high}, but there are {n_graphs} graphs (batch_size)")
    if arcs.numel():
        low, high = (int(node) for node in arcs.aminmax())
        if low < 0 or high >= len(x):
            refuse(f"edge_index names nodes from {low} to {high}, but there are {len(x)} nodes")
    between = batch[arcs[0]] != batch[arcs[1]]
    if bool(between.any()):
        wrong = int(between.nonzero()[0])
        raise GraphError(
            f"edge_index[:, {wrong}] = {arcs[:, wrong].tolist()} joins nodes of two graphs",
            cure="In a batch, continue the node numbers from graph to graph",
        )


def as_batch(inputs: Inputs) -> tuple[GraphBatch, IntArray | None, IntArray | None]:
    """Return the graphs, and the order of their nodes and arcs, None if it did not change.

    All count as directed: the engine finds out whether every arc has its reverse.
    """
    check_graphs(inputs)
    x, arcs, values, batch, n_graphs = inputs
    # one layout: kernels are compiled again for another
    number, ends = (np.ascontiguousarray(one.cpu().numpy()) for one in (batch, arcs))
    node_attr, edge_attr = (np.ascontiguousarray(one.double().cpu().numpy()) for one in (x, values))
    node_order = edge_order = None
    if (number[1:] < number[:-1]).any():
        node_order = np.argsort(number, kind="stable")
        ends, number, node_attr = np.argsort(node_order)[ends], number[node_order], node_attr[node_order]
    graph = number[ends[0]]
    if (graph[1:] < graph[:-1]).any():
        edge_order = np.argsort(graph, kind="stable")
        ends, graph, edge_attr = ends[:, edge_order], graph[edge_order], edge_attr[edge_order]
    numbers = np.arange(n_graphs + 1)
    node_ptr, arc_ptr = np.searchsorted(number, numbers), np.searchsorted(graph, numbers)
    edges = np.ascontiguousarray(ends.T - node_ptr[graph][:, np.newaxis])
    batch_of = GraphBatch(node_ptr, arc_ptr, edges, node_attr, edge_attr, np.ones(n_graphs, np.bool_))
    return batch_of, node_order, edge_order
