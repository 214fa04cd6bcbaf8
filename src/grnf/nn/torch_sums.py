"""The hidden sums U of all features in plain torch operations: for any device, differentiable twice.

t(v) = sum_p a_p[v_p] + sum_{p < q} e_pq[v_p, v_q] on tuples of distinct nodes of a graph, as in the engine.
Every graph counts as directed. U_1 is a sum over nodes. U_2 of relu, ramp and identity takes all pairs as if
there were no edges, by sorting, and corrects those with an edge and those of a node with itself. Other sums
go over tuples, some at a time. A step is computed again on its way back, so that only its inputs are stored.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from grnf.basis import set_partitions
from grnf.basis.partitions import n_slots
from grnf.basis.slot_form import slot_map, slot_statistics
from grnf.errors import CostWarning
from grnf.nn.sums import Settings
from grnf.nn.tensor_graphs import Inputs

ENTRIES = 2**21
"""Numbers in the largest array of a step: a step has as many channels or tuples as fit."""

COSTLY = 2e10
"""Terms of a sum over tuples from which a warning comes first: about a minute on a CPU."""

SORTED = ("relu", "ramp", "identity")
"""Hidden activations whose sums over pairs need no list of pairs."""


class Form(NamedTuple):
    """The slot form of the tuples of a partition: see `grnf.basis.slot_form`."""

    slots: int
    matrices: list[Any]
    columns: list[int]
    row: dict[tuple[str, int, int], int]


def forms(k: int, basis: str) -> list[Form]:
    """Return the forms of all partitions of k indices, as lists that torch need not trace."""
    result = []
    for pi in set_partitions(k):
        mapping, B = slot_map(pi, basis), n_slots(pi)
        row = {statistic: i for i, statistic in enumerate(slot_statistics(B))}
        result.append(Form(B, mapping.matrices.tolist(), mapping.columns.tolist(), row))
    return result


def rho(name: str, x: Tensor) -> Tensor:
    """Apply the activation of that name entry by entry."""
    if name == "ramp":
        return x.clamp(0.0, 1.0)
    return x if name == "identity" else getattr(torch, name)(x)


def hidden_sums(
    inputs: Inputs, thetas: Sequence[Tensor], by_order: Sequence[list[Form]], settings: Settings
) -> Tensor:
    """Return U of every graph and hidden channel, laid out as in `grnf.law.OrderDraw.invariant`."""
    graphs = _statistics(inputs, settings.normalize, settings.adjacency_channel)
    hidden_channels, activation = settings.hidden_channels, settings.activation
    if not _traced(graphs.nodes):
        warn_of_cost(graphs.sizes, by_order, [len(theta) * hidden_channels for theta in thetas])
    results = []
    for of_order, theta in zip(by_order, thetas, strict=True):
        m, n_biases = len(theta), len(of_order) * hidden_channels
        size = theta.shape[1] - 2 * n_biases - 1
        linear = theta[:, :size].reshape(m, -1, hidden_channels, graphs.n_channels)
        bias = theta[:, size : size + n_biases].reshape(m, -1, hidden_channels)
        parts = []
        for place, form in enumerate(of_order):
            step = _features_of_a_step(graphs, hidden_channels, form.slots, activation)
            sums = [
                _sums_of_form(graphs, form, activation, linear[i : i + step], bias[i : i + step, place])
                for i in range(0, m, step)
            ]
            parts.append(torch.cat(sums, dim=1))
        results.append(torch.stack(parts, dim=2).flatten(1))
    return torch.cat(results, dim=1)


class _Graphs(NamedTuple):
    """Statistics of a batch, as in the engine, with powers of u = 1/n multiplied in.

    Columns of nodes: [x | D | R | C], of totals: [sum x | sum D | sum R], of pairs: [A_ij | A_ji], each three
    times, with 1, u and u^2. `ends`, shape (2, pairs), has i < j. `keys`, ascending, are i N + j.
    """

    nodes: Tensor
    totals: Tensor
    pairs: Tensor
    ends: Tensor
    keys: Tensor
    batch: Tensor
    sizes: Tensor
    u: Tensor
    node_width: int

    @property
    def n_channels(self) -> int:
        return self.node_width + self.pairs.shape[1] // 6


def _traced(x: Tensor) -> bool:
    """Whether only shapes are known, so that none may depend on numbers."""
    return x.is_meta or torch.compiler.is_compiling()


def _statistics(inputs: Inputs, normalize: bool, adjacency_channel: bool) -> _Graphs:
    x, arcs, values, batch, n_graphs = inputs
    n = x.shape[0]
    if adjacency_channel or not values.shape[1]:
        values = torch.cat([values.new_ones(values.shape[0], 1), values], dim=1)
    loops = (arcs[0] == arcs[1])[:, None]
    D, R, C = (
        values.new_zeros(n, values.shape[1]).index_add(0, ends, some)
        for ends, some in ((arcs[0], values * loops), (arcs[0], values), (arcs[1], values))
    )
    own = torch.cat([x, D, R, C], dim=1)
    totals = x.new_zeros(n_graphs, x.shape[1] + 2 * values.shape[1])
    totals = totals.index_add(0, batch, own[:, : totals.shape[1]])
    sizes = torch.zeros(n_graphs, dtype=torch.long, device=x.device).index_add(
        0, batch, torch.ones_like(batch)
    )
    u = 1 / sizes.clamp(min=1).to(x.dtype) if normalize else x.new_ones(n_graphs)
    ends, keys, pairs = _pairs(arcs, values, n)
    of_pairs = u[batch[ends[0]]] if n else u.new_zeros(ends.shape[1])
    return _Graphs(
        _with_powers(own, u[batch]), _with_powers(totals, u), _with_powers(pairs, of_pairs),
        ends, keys, batch, sizes, u, x.shape[1],
    )  # fmt: skip


def _with_powers(values: Tensor, u: Tensor) -> Tensor:
    return torch.cat([values, values * u[:, None], values * u[:, None] ** 2], dim=1)


def _pairs(arcs: Tensor, values: Tensor, n: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the ends i < j of all pairs with an edge, their keys, and [A_ij | A_ji], repeated arcs summed.

    While torch traces, there are as many rows as arcs: those left over have i = j and values 0.
    """
    low, high = arcs.min(0).values, arcs.max(0).values
    between = low != high
    past = n * n  # the key of self-loops, which are no pairs
    key, order = torch.where(between, low * n + high, past).sort()
    new = torch.ones_like(key, dtype=torch.bool)
    new[1:] = key[1:] != key[:-1]
    number = torch.cumsum(new, 0) - 1
    count = key.shape[0] if _traced(values) else int((new & (key < past)).sum())
    keys = torch.full((key.shape[0] + 1,), past, dtype=torch.long, device=key.device)
    keys = keys.scatter(0, number, key)[:count]
    back = (arcs[0] > arcs[1])[order, None]
    given = (values * between[:, None])[order]
    both = torch.cat([given * ~back, given * back], dim=1)
    pairs = both.new_zeros(key.shape[0] + 1, both.shape[1]).index_add(0, number, both)[:count]
    inside = keys.clamp(max=past - 1) if n else keys
    ends = torch.stack([inside // max(n, 1), inside % max(n, 1)])
    return ends, keys, pairs


def _features_of_a_step(graphs: _Graphs, hidden_channels: int, slots: int, activation: str) -> int:
    """Return how many features fit a step. While torch traces, all of them do."""
    if _traced(graphs.nodes):
        return 2**62
    rows = max(graphs.nodes.shape[0], graphs.ends.shape[1], 1)
    if slots > 2 or (slots == 2 and activation not in SORTED):
        rows = max(rows, 2**14)  # tuples
    return max(1, ENTRIES // (rows * hidden_channels))


def _sums_of_form(graphs: _Graphs, form: Form, activation: str, linear: Tensor, bias: Tensor) -> Tensor:
    """Return U on the tuples of a partition, shape (graphs, features, F_h)."""
    B, m = form.slots, len(linear)
    of_nodes, of_pairs, of_totals = _coefficients(form, linear, graphs.node_width)
    constant = bias.reshape(1, -1)
    tensors = graphs.nodes, graphs.totals, graphs.pairs, of_nodes, of_pairs, of_totals, constant, graphs.u
    if B == 1 or (B == 2 and activation in SORTED):

        def sums(*tensors: Tensor) -> Tensor:
            a, e, scale = _rows(graphs, *tensors)
            if B == 1:
                each = rho(activation, a[0])
            else:
                each = _all_pairs(activation, a[0], a[1], graphs) - rho(activation, a[0] + a[1])
            total = each.new_zeros(scale.shape[0], each.shape[1]).index_add(0, graphs.batch, each)
            if B == 2:
                i, j = graphs.ends
                for one, other, edge in ((i, j, e[0]), (j, i, e[1])):
                    t = a[0][one] + a[1][other]
                    change = rho(activation, t + edge) - rho(activation, t)
                    total = total.index_add(0, graphs.batch[one], change)
            return total * scale[:, None] ** B

        result = _recomputed(sums, *tensors)
    else:
        result = _tuple_sums(graphs, B, activation, tensors)
    return result.view(len(result), m, bias.shape[1])


def _coefficients(form: Form, linear: Tensor, node_width: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return coefficients of nodes (B, 3 columns, H), pairs (B (B - 1) / 2, ..), totals (3 columns, H)."""
    B, row = form.slots, form.row
    matrices = torch.tensor(form.matrices, dtype=linear.dtype, device=linear.device)
    chosen = linear[:, torch.tensor(form.columns, device=linear.device)]
    each = torch.einsum("usc,mchf->sufmh", matrices, chosen).flatten(3)  # statistic, power, channel, H
    node, edge = each[:, :, :node_width], each[:, :, node_width:]
    nodes = []
    for p in range(B):
        D, R, C = row["A", p, p], row["R", p, 0], row["C", p, 0]
        nodes.append(torch.cat([node[D] + node[R] + node[C], edge[D], edge[R], edge[C]], dim=1).flatten(0, 1))
    pairs = [
        torch.cat([edge[row["A", p, q]], edge[row["A", q, p]]], dim=1).flatten(0, 1)
        for p, q in combinations(range(B), 2)
    ]
    d, S = row["d", 0, 0], row["S", 0, 0]
    totals = torch.cat([node[d] + node[S], edge[d], edge[S]], dim=1).flatten(0, 1)
    none = totals.new_zeros(0, 6 * edge.shape[2], totals.shape[1])
    return torch.stack(nodes), torch.stack(pairs) if pairs else none, totals


def _rows(graphs: _Graphs, *tensors: Tensor) -> tuple[list[Tensor], list[Tensor], Tensor]:
    """Return a_p of all nodes, e_pq of all pairs i < j and then of j, i, and u."""
    nodes, totals, pairs, of_nodes, of_pairs, of_totals, constant, u = tensors
    shared = totals @ of_totals + constant
    a = [nodes @ one for one in of_nodes]
    a[0] = a[0] + shared[graphs.batch]
    half = pairs.shape[1] // 6
    back = pairs.view(-1, 3, 2, half).flip(2).flatten(1)
    return a, [rows @ one for rows in (pairs, back) for one in of_pairs], u


def _all_pairs(activation: str, a: Tensor, b: Tensor, graphs: _Graphs) -> Tensor:
    """Return sum_i rho(a_i + b_j) of each node j over the nodes i of its graph, itself included."""
    batch, sizes = graphs.batch, graphs.sizes
    if activation == "identity":
        total = a.new_zeros(sizes.shape[0], a.shape[1]).index_add(0, batch, a)
        return total[batch] + sizes[batch][:, None] * b
    result = _relu_pairs(a, b, batch, sizes)
    return result if activation == "relu" else result - _relu_pairs(a, b - 1, batch, sizes)


def _relu_pairs(a: Tensor, b: Tensor, batch: Tensor, sizes: Tensor) -> Tensor:
    """Return sum_i relu(a_i + b_j) of each node j by sorting a and -b together in each graph."""
    n, wide = a.shape[0], a.dtype if a.device.type == "mps" else torch.float64
    both = torch.cat([a, -b]).T  # of equal values, a comes first: it adds 0
    order = both.detach().argsort(dim=1, stable=True)
    number = torch.cat([batch, batch])[order]
    order = order.gather(1, number.argsort(dim=1, stable=True))
    place = torch.empty_like(order).scatter(1, order, torch.arange(2 * n, device=a.device).expand_as(order))
    is_a = (torch.arange(2 * n, device=a.device) < n)[order]
    below = torch.cumsum((both.gather(1, order) * is_a).to(wide), 1).gather(1, place[:, n:]).T
    rank = torch.cumsum(is_a, 1).gather(1, place[:, n:]).T  # of all graphs up to here
    ends = torch.cumsum(sizes, 0)
    sums = a.new_zeros(sizes.shape[0], a.shape[1], dtype=wide).index_add(0, batch, a.to(wide))
    above = torch.cumsum(sums, 0)[batch] - below
    return (above + (ends[batch][:, None] - rank) * b).to(a.dtype)


def _tuple_sums(graphs: _Graphs, B: int, activation: str, tensors: Sequence[Tensor]) -> Tensor:
    """Return U_B by definition, over chunks of tuples."""
    if torch.compiler.is_compiling() and not torch.compiler.is_exporting():
        return _untraced_tuple_sums(graphs, B, activation, tensors)
    width = tensors[-2].shape[1]
    total = tensors[0].new_zeros(graphs.sizes.shape[0], width)
    for v in _tuples(graphs, B, max(1, ENTRIES // width)):

        def sums(*tensors: Tensor, v: Tensor = v) -> Tensor:
            a, e, scale = _rows(graphs, *tensors)
            t = torch.stack([a[p][v[p]] for p in range(B)]).sum(0)
            kept = torch.ones_like(v[0], dtype=torch.bool)
            for place, (p, q) in enumerate(combinations(range(B), 2)):
                t = t + _edge_terms(graphs, v[p], v[q], e[place], e[place + len(e) // 2])
                kept = kept & (v[p] != v[q]) & (graphs.batch[v[p]] == graphs.batch[v[q]])
            terms = rho(activation, t) * kept[:, None]
            result = terms.new_zeros(scale.shape[0], width).index_add(0, graphs.batch[v[0]], terms)
            return result * scale[:, None] ** B

        total = total + _recomputed(sums, *tensors)
    return total


_untraced_tuple_sums: Callable[..., Tensor] = torch.compiler.disable(_tuple_sums)  # type: ignore[no-untyped-call]


def _edge_terms(graphs: _Graphs, i: Tensor, j: Tensor, there: Tensor, back: Tensor) -> Tensor:
    """Return e[i, j] of some pairs: rows of `there` if i < j, of `back` if not, 0 without an edge."""
    keys = graphs.keys
    if not keys.shape[0]:
        return there.new_zeros(i.shape[0], there.shape[1])
    key = torch.minimum(i, j) * graphs.nodes.shape[0] + torch.maximum(i, j)
    place = torch.searchsorted(keys, key).clamp(max=keys.shape[0] - 1)
    found = (keys[place] == key)[:, None]
    return torch.where(found, torch.where((i < j)[:, None], there[place], back[place]), 0)


def _tuples(graphs: _Graphs, B: int, step: int) -> Iterator[Tensor]:
    """Yield all tuples of nodes within each graph, shape (B, at most `step`), also with equal nodes.

    While torch traces they are tuples of any nodes, since sizes of graphs are not known.
    """
    n, device = graphs.nodes.shape[0], graphs.batch.device
    traced = _traced(graphs.nodes)
    sizes = torch.full((1,), n, device=device) if traced else graphs.sizes
    count = n**B if traced else int((sizes**B).sum())
    by_graph = torch.arange(n, device=device) if traced else torch.argsort(graphs.batch, stable=True)
    stop = torch.cumsum(sizes**B, 0)
    first = torch.cumsum(sizes, 0) - sizes
    for start in range(0, count, step):
        number = torch.arange(start, min(start + step, count), device=device)
        g = torch.searchsorted(stop, number, right=True)
        rest, n_g, v = number - (stop[g] - sizes[g] ** B), sizes[g], []
        for _ in range(B):
            v.append(by_graph[first[g] + rest % n_g])
            rest = rest // n_g
        yield torch.stack(v)


def warn_of_cost(sizes: Tensor, by_order: Sequence[list[Form]], widths: Sequence[int]) -> None:
    """Warn before sums over very many tuples of three nodes or more."""
    orders = [max(form.slots for form in of_order) for of_order in by_order]
    terms = sum(
        float((sizes.double() ** k).sum()) * width for k, width in zip(orders, widths, strict=True) if k > 2
    )
    if terms > COSTLY:
        warnings.warn(
            f"order {max(orders)} in torch operations sums {terms:.1g} terms, one per tuple of nodes and "
            "hidden channel. Use orders up to 2, smaller graphs, fewer features, or path='cpu', which groups "
            "equal tuples",
            CostWarning,
            stacklevel=4,
        )


def _recomputed(step: Callable[..., Tensor], *tensors: Tensor) -> Tensor:
    """Store the inputs of a step alone, unless `torch.compile` or `torch.func` decide what they store."""
    if torch.compiler.is_compiling() or torch._C._functorch.peek_interpreter_stack() is not None:
        return step(*tensors)
    return checkpoint(step, *tensors, use_reentrant=False, preserve_rng_state=False)  # type: ignore[no-any-return]
