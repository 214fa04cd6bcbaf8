"""U_B = sum over distinct v_1 .. v_B of rho_e(t(v)) as an operator of torch, with derivatives.

From designs and weights (`grnf.nn.designs`) to U, shape (graphs, channels). Hidden channels are taken a few
at a time and once more in the backward pass, so that nothing of the size of nodes x channels is kept, let
alone of pairs x channels. As an operator of its own it is one node for `torch.compile`.
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
    "Tensor[] designs, Tensor[] weights, Tensor[] edge_designs, Tensor[] edge_weights, "
    "Tensor ptr, Tensor graph_of, Tensor pairs, int code"
)


def block_sums(
    designs: Sequence[Tensor],
    weights: Sequence[Tensor],
    edge_designs: Sequence[Tensor],
    edge_weights: Sequence[Tensor],
    layout: Layout,
    code: int,
) -> Tensor:
    """Return U_B for B slots: rows X_p W_p of nodes and Q_pq W_pq of the edges between them; code: rho_e."""
    return _sums(  # type: ignore[no-any-return]
        list(designs), list(weights), list(edge_designs), list(edge_weights), *layout, code
    )


class _Work:
    """One call: its arrays, and the channels in chunks."""

    def __init__(
        self,
        designs: list[Tensor],
        weights: list[Tensor],
        edge_designs: list[Tensor],
        edge_weights: list[Tensor],
        layout: Layout,
    ) -> None:
        first = weights[0]
        usual = first.device.type == "cpu" and first.dtype in (torch.float32, torch.float64)
        self.core: Any = loops if usual else dense
        self.padding = int((layout.pairs[:, 0] < 0).sum())
        used = layout.pairs[: len(layout.pairs) - self.padding]
        if bool((layout.graph_of[used[:, 0]] != layout.graph_of[used[:, 1]]).any()):
            raise GraphError("edge_index joins nodes of two graphs of the batch")
        self.at = self.core.numbers(layout._replace(pairs=used))
        self.designs, self.weights = designs, weights
        self.edge_designs, self.edge_weights = [self._trimmed(Q) for Q in edge_designs], edge_weights

    def run(self, call: Callable[[slice, list[Tensor], list[Tensor]], None]) -> None:
        """Call with every chunk of channels and its rows; as many at once as torch may use threads."""
        width, workers = self.weights[0].shape[1], torch.get_num_threads() if self.core is loops else 1
        n_rows = sum(len(X) for X in (*self.designs, *self.edge_designs))
        most = CHUNK_BYTES // max(1, n_rows * self.weights[0].element_size())
        step = max(4, min(-(-width // workers), most - most % 16 if most > 16 else most))
        chunks = [slice(start, min(start + step, width)) for start in range(0, width, step)]
        if workers == 1 or len(chunks) == 1:
            rows: list[Tensor] = []
            for some in chunks:
                rows = self.rows(some, rows)
                call(some, rows[: len(self.designs)], rows[len(self.designs) :])
            return
        B = len(self.designs)
        with ThreadPoolExecutor(workers) as pool:
            for first in range(0, len(chunks), workers):
                group = chunks[first : first + workers]
                tasks = [(some, self.rows(some, [])) for some in group]  # products have threads of their own
                list(pool.map(lambda task: call(task[0], task[1][:B], task[1][B:]), tasks))

    def rows(self, some: slice, used: list[Tensor]) -> list[Tensor]:
        """Multiply out the rows of some channels; into those that were used before if they fit."""
        X, W = [*self.designs, *self.edge_designs], [*self.weights, *self.edge_weights]
        width = some.stop - some.start
        if not used or used[0].shape[1] != width:
            used = [one.new_empty(len(one), width) for one in X]
        return [torch.mm(x, w[:, some], out=row) for x, w, row in zip(X, W, used, strict=True)]

    def _trimmed(self, Q: Tensor) -> Tensor:
        """Leave out the rows of padding."""
        if not self.padding:
            return Q
        half = len(Q) // 2
        return torch.cat([Q[: half - self.padding], Q[half : len(Q) - self.padding]])

    def padded(self, Q: Tensor) -> Tensor:
        """Put rows of zeros where the padding was."""
        if not self.padding:
            return Q
        return torch.nn.functional.pad(Q.view(2, -1, Q.shape[1]), (0, 0, 0, self.padding)).flatten(0, 1)


def _precise(like: Tensor) -> torch.dtype:
    """Return the type of the sums: double on the processor, as in the engine; heads then lose nothing."""
    usual = like.device.type == "cpu" and like.dtype == torch.float32
    return torch.float64 if usual else like.dtype


def _forward(
    designs: list[Tensor],
    weights: list[Tensor],
    edge_designs: list[Tensor],
    edge_weights: list[Tensor],
    ptr: Tensor,
    graph_of: Tensor,
    pairs: Tensor,
    code: int,
) -> Tensor:
    work = _Work(designs, weights, edge_designs, edge_weights, Layout(ptr, graph_of, pairs))
    U = weights[0].new_empty(len(ptr) - 1, weights[0].shape[1], dtype=_precise(weights[0]))

    def fill(some: slice, rows: list[Tensor], edges: list[Tensor]) -> None:
        U[:, some] = work.core.sums_of(code, rows, edges, work.at).to(U.dtype)

    work.run(fill)
    return U


def _backward(
    designs: list[Tensor],
    weights: list[Tensor],
    edge_designs: list[Tensor],
    edge_weights: list[Tensor],
    ptr: Tensor,
    graph_of: Tensor,
    pairs: Tensor,
    code: int,
    dU: Tensor,
    of_designs: bool,
    of_weights: bool,
) -> list[Tensor]:
    """Return the derivatives of all designs and weights in that order; empty ones if not asked for."""
    work = _Work(designs, weights, edge_designs, edge_weights, Layout(ptr, graph_of, pairs))
    X, W = [*work.designs, *work.edge_designs], [*work.weights, *work.edge_weights]
    dX = [torch.zeros_like(one) if of_designs else one.new_empty(0) for one in X]
    dW = [torch.zeros_like(one) if of_weights else one.new_empty(0) for one in W]
    lock = Lock()

    def fill(some: slice, rows: list[Tensor], edges: list[Tensor]) -> None:
        d_rows, d_edges = work.core.slopes_of(
            code, rows, edges, work.at, dU[:, some].to(weights[0].dtype).contiguous()
        )
        with lock:  # the products have threads of their own
            for index, d in enumerate([*d_rows, *d_edges]):
                if of_designs:
                    dX[index].addmm_(d, W[index][:, some].T)
                if of_weights:
                    dW[index][:, some] = X[index].T @ d

    work.run(fill)
    if of_designs:
        dX = [*dX[: len(designs)], *map(work.padded, dX[len(designs) :])]
    return [*dX, *dW]


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
def _shape_of_sums(designs, weights, edge_designs, edge_weights, ptr, *_):  # type: ignore[no-untyped-def]  # noqa: ARG001
    return weights[0].new_empty(ptr.shape[0] - 1, weights[0].shape[1], dtype=_precise(weights[0]))


@_slopes.register_fake
def _shapes_of_slopes(*arguments):  # type: ignore[no-untyped-def]
    designs, weights, edge_designs, edge_weights = arguments[:4]
    of_designs, of_weights = arguments[-2:]
    return [
        *(torch.empty_like(one) if of_designs else one.new_empty(0) for one in (*designs, *edge_designs)),
        *(torch.empty_like(one) if of_weights else one.new_empty(0) for one in (*weights, *edge_weights)),
    ]


def _keep(ctx, inputs, output):  # type: ignore[no-untyped-def]  # noqa: ARG001
    designs, weights, edge_designs, edge_weights, ptr, graph_of, pairs, ctx.code = inputs
    ctx.counts = len(designs), len(edge_designs)
    ctx.save_for_backward(*designs, *edge_designs, *weights, *edge_weights, ptr, graph_of, pairs)


def _chain(ctx, dU):  # type: ignore[no-untyped-def]
    B, E = ctx.counts
    *tensors, ptr, graph_of, pairs = ctx.saved_tensors
    lists = tensors[:B], tensors[B + E : B + E + B], tensors[B : B + E], tensors[B + E + B :]
    wanted = ctx.needs_input_grad
    of_designs, of_weights = any(wanted[0] + wanted[2]), any(wanted[1] + wanted[3])
    found = _slopes(*lists, ptr, graph_of, pairs, ctx.code, dU, of_designs, of_weights)
    dX, dW = found[: B + E], found[B + E :]

    def asked(derivatives: list[Tensor], flags: list[bool]) -> list[Tensor | None]:
        return [d if flag else None for d, flag in zip(derivatives, flags, strict=True)]

    return (
        asked(dX[:B], wanted[0]),
        asked(dW[:B], wanted[1]),
        asked(dX[B:], wanted[2]),
        asked(dW[B:], wanted[3]),
        None,
        None,
        None,
        None,
    )


_sums.register_autograd(_chain, setup_context=_keep)
