"""U_B = sum over distinct v_1 .. v_B of rho_e(t(v)) as an operator of torch, with derivatives.

From designs and weights (`grnf.nn.designs`) to U, shape (graphs, channels). Hidden channels are taken a few at a
time and once more in the backward pass, so that nothing of the size of nodes x channels is kept, let alone of pairs
x channels. As an operator of its own it is one node for `torch.compile`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any

import torch
from torch import Tensor

from grnf.errors import GraphError
from grnf.nn import dense, loops
from grnf.nn.layout import Layout

__all__ = ["block_sums"]

CHUNK_BYTES = 2**24
"""Memory of the rows of the channels that are treated at once, for each thread."""

_ARGUMENTS = (
    "Tensor[] designs, Tensor[] weights, Tensor[] edge_designs, Tensor[] edge_weights, Tensor bias, "
    "Tensor ptr, Tensor graph_of, Tensor pairs, int code"
)


def block_sums(
    designs: Sequence[Tensor],
    weights: Sequence[Tensor],
    edge_designs: Sequence[Tensor],
    edge_weights: Sequence[Tensor],
    bias: Tensor,
    layout: Layout,
    code: int,
) -> Tensor:
    """Return U_B for B slots: rows X_p W_p (bias on the first) and Q_pq W_pq between them; code: rho_e."""
    return _sums(  # type: ignore[no-any-return]
        list(designs), list(weights), list(edge_designs), list(edge_weights), bias, *layout, code
    )


class _Work:
    """One call: its arrays, and the channels in chunks."""

    def __init__(
        self,
        designs: list[Tensor],
        weights: list[Tensor],
        edge_designs: list[Tensor],
        edge_weights: list[Tensor],
        bias: Tensor,
        layout: Layout,
    ) -> None:
        usual = bias.device.type == "cpu" and bias.dtype in (torch.float32, torch.float64)
        self.core: Any = loops if usual else dense
        self.padding = int((layout.pairs[:, 0] < 0).sum())
        used = layout.pairs[: len(layout.pairs) - self.padding]
        if bool((layout.graph_of[used[:, 0]] != layout.graph_of[used[:, 1]]).any()):
            raise GraphError("edge_index joins nodes of two graphs of the batch")
        self.at = self.core.numbers(layout._replace(pairs=used))
        self.designs, self.weights, self.bias = designs, weights, bias
        self.edge_designs, self.edge_weights = [self._trimmed(Q) for Q in edge_designs], edge_weights

    def run(self, call: Callable[[slice, list[Tensor], list[Tensor]], None]) -> None:
        """Call with every chunk of channels and its rows; as many at once as torch may use threads."""
        width, workers = len(self.bias), torch.get_num_threads() if self.core is loops else 1
        n_rows = sum(len(X) for X in (*self.designs, *self.edge_designs))
        most = CHUNK_BYTES // max(1, n_rows * self.bias.element_size())
        step = max(4, min(-(-width // workers), most - most % 16))
        chunks = [slice(start, min(start + step, width)) for start in range(0, width, step)]
        if workers == 1 or len(chunks) == 1:
            for some in chunks:
                call(some, *self.rows(some))
            return
        with ThreadPoolExecutor(workers) as pool:
            for first in range(0, len(chunks), workers):
                group = chunks[first : first + workers]
                tasks = [(some, *self.rows(some)) for some in group]  # products have threads of their own
                list(pool.map(lambda task: call(*task), tasks))

    def rows(self, some: slice) -> tuple[list[Tensor], list[Tensor]]:
        """Multiply out the rows of some channels."""
        first = torch.addmm(self.bias[some], self.designs[0], self.weights[0][:, some])
        others = zip(self.designs[1:], self.weights[1:], strict=True)
        edges = zip(self.edge_designs, self.edge_weights, strict=True)
        return [first, *(X @ W[:, some] for X, W in others)], [Q @ W[:, some] for Q, W in edges]

    def _trimmed(self, Q: Tensor) -> Tensor:
        """Leave out the rows of padding."""
        return Q.view(2, -1, Q.shape[1])[:, : len(Q) // 2 - self.padding].flatten(0, 1) if self.padding else Q

    def padded(self, Q: Tensor) -> Tensor:
        """Put rows of zeros where the padding was."""
        if not self.padding:
            return Q
        return torch.nn.functional.pad(Q.view(2, -1, Q.shape[1]), (0, 0, 0, self.padding)).flatten(0, 1)


def _forward(
    designs: list[Tensor],
    weights: list[Tensor],
    edge_designs: list[Tensor],
    edge_weights: list[Tensor],
    bias: Tensor,
    ptr: Tensor,
    graph_of: Tensor,
    pairs: Tensor,
    code: int,
) -> Tensor:
    work = _Work(designs, weights, edge_designs, edge_weights, bias, Layout(ptr, graph_of, pairs))
    U = bias.new_empty(len(ptr) - 1, len(bias))

    def fill(some: slice, rows: list[Tensor], edges: list[Tensor]) -> None:
        U[:, some] = work.core.sums_of(code, rows, edges, work.at).to(U.dtype)

    work.run(fill)
    return U


def _backward(
    designs: list[Tensor],
    weights: list[Tensor],
    edge_designs: list[Tensor],
    edge_weights: list[Tensor],
    bias: Tensor,
    ptr: Tensor,
    graph_of: Tensor,
    pairs: Tensor,
    code: int,
    dU: Tensor,
    of_designs: bool,
    of_weights: bool,
) -> list[Tensor]:
    """Return the derivatives of all designs, weights and the bias in that order; empty ones if not asked for."""
    work = _Work(designs, weights, edge_designs, edge_weights, bias, Layout(ptr, graph_of, pairs))
    X, W = [*work.designs, *work.edge_designs], [*work.weights, *work.edge_weights]
    dX = [torch.zeros_like(one) if of_designs else one.new_empty(0) for one in X]
    dW = [torch.zeros_like(one) if of_weights else one.new_empty(0) for one in W]
    dbias = torch.zeros_like(bias) if of_weights else bias.new_empty(0)
    lock = Lock()

    def fill(some: slice, rows: list[Tensor], edges: list[Tensor]) -> None:
        d_rows, d_edges = work.core.slopes_of(code, rows, edges, work.at, dU[:, some].contiguous())
        with lock:  # the products have threads of their own
            for index, d in enumerate([*d_rows, *d_edges]):
                if of_designs:
                    dX[index].addmm_(d, W[index][:, some].T)
                if of_weights:
                    dW[index][:, some] = X[index].T @ d
            if of_weights:
                dbias[some] = d_rows[0].sum(0)

    work.run(fill)
    if of_designs:
        dX = [*dX[: len(designs)], *map(work.padded, dX[len(designs) :])]
    return [*dX, *dW, dbias]


_sums = torch.library.custom_op(
    "grnf::block_sums", _forward, mutates_args=(), schema=f"({_ARGUMENTS}) -> Tensor"
)
_slopes = torch.library.custom_op(
    "grnf::block_slopes",
    _backward,
    mutates_args=(),
    schema=f"({_ARGUMENTS}, Tensor dU, bool of_designs, bool of_weights) -> Tensor[]",
)


@_sums.register_fake
def _shape_of_sums(designs, weights, edge_designs, edge_weights, bias, ptr, *_):  # type: ignore[no-untyped-def]  # noqa: ARG001
    return bias.new_empty(ptr.shape[0] - 1, bias.shape[0])


@_slopes.register_fake
def _shapes_of_slopes(*arguments):  # type: ignore[no-untyped-def]
    designs, weights, edge_designs, edge_weights, bias = arguments[:5]
    of_designs, of_weights = arguments[-2:]
    return [
        *(torch.empty_like(one) if of_designs else one.new_empty(0) for one in (*designs, *edge_designs)),
        *(torch.empty_like(one) if of_weights else one.new_empty(0) for one in (*weights, *edge_weights, bias)),
    ]


def _keep(ctx, inputs, output):  # type: ignore[no-untyped-def]  # noqa: ARG001
    designs, weights, edge_designs, edge_weights, bias, ptr, graph_of, pairs, ctx.code = inputs
    ctx.counts = len(designs), len(edge_designs)
    ctx.save_for_backward(*designs, *edge_designs, *weights, *edge_weights, bias, ptr, graph_of, pairs)


def _chain(ctx, dU):  # type: ignore[no-untyped-def]
    B, E = ctx.counts
    *tensors, bias, ptr, graph_of, pairs = ctx.saved_tensors
    lists = tensors[:B], tensors[B + E : B + E + B], tensors[B : B + E], tensors[B + E + B :]
    print(ctx.needs_input_grad)
    of_designs, of_weights = True, True
    found = _slopes(*lists, bias, ptr, graph_of, pairs, ctx.code, dU, of_designs, of_weights)
    dX, dW, dbias = found[: B + E], found[B + E : -1], found[-1]
    return dX[:B], dW[:B], dX[B:], dW[B:], dbias, None, None, None, None


_sums.register_autograd(_chain, setup_context=_keep)
