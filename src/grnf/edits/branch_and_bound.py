"""Bounds and exact search for the cheapest correspondence of two graphs, compiled.

Lower bound: each node brings half of its edges, and the cheapest assignment of nodes with edges costs at most
as much as any correspondence (branch bound: Riesen and Bunke 2009, Blumenthal and Gamper 2018). In the
search, edges to nodes that are mapped already count in full (Chang, Feng, Lin, Qin and Zhang 2020). Upper
bound: assignment, then moves and exchanges of single nodes against the true cost, with restarts.

Gains are those of `grnf.edits.edit_problem`. A matrix of gains that are at most 0 is padded by zeros to a
square, so a node that is matched to padding is deleted or inserted.
"""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from grnf._utils.jit import compiled, inlined, inner
from grnf.edits.edit_problem import DenseProblem, EditProblem
from grnf.edits.propagation import histogram_bound, propagated_mapping
from grnf.graphs import Graph
from grnf.symmetry import certificates
from grnf.typing import BoolArray, FloatArray, IntArray

DENSE_NODES = 1_000
"""Nodes of each graph up to which matrices of nodes by nodes are made."""

DENSE_LABELS = 2_000
"""Different labels of edges up to which a table of their costs is made."""

EXACT_NODES = 100
"""Nodes of each graph up to which the exact search runs."""

QUICK, THOROUGH = 7_000, 180_000
"""Pairs of nodes that restarts of the upper bound look at, before and during the exact search."""

MOST_RESTARTS = 200

VISITS = 200
"""Nodes of the tree between two looks at the clock."""

TINY = 1e-9


class Tree(NamedTuple):
    """State of the exact search: by depth, the images to try, their number, the next one and bounds."""

    order: IntArray
    place: IntArray
    free2: BoolArray
    twins: IntArray
    cross: FloatArray
    fixed: FloatArray
    children: IntArray
    bounds: FloatArray
    n_children: IntArray
    pointer: IntArray
    images: IntArray
    best_images: IntArray


@inner
def assign(cost: FloatArray, size: int, scratch: Any) -> Any:
    """Solve the square assignment problem by shortest augmenting paths. Return the total.

    Potentials u, v (from index 1) satisfy u[i + 1] + v[j + 1] <= cost[i, j].
    """
    u, v, row_of, work = scratch
    way = np.empty(size + 1, np.int64)
    used = np.empty(size + 1, np.bool_)
    for j in range(size + 1):
        u[j] = v[j] = 0.0
        row_of[j] = 0
    for i in range(1, size + 1):
        row_of[0] = i
        j0 = 0
        for j in range(size + 1):
            work[j], used[j] = np.inf, False
        while True:
            used[j0] = True
            i0, delta, j1 = row_of[j0], np.inf, 0
            for j in range(1, size + 1):
                if not used[j]:
                    reduced = cost[i0 - 1, j - 1] - u[i0] - v[j]
                    if reduced < work[j]:
                        work[j], way[j] = reduced, j0
                    if work[j] < delta:
                        delta, j1 = work[j], j
            for j in range(size + 1):
                if used[j]:
                    u[row_of[j]] += delta
                    v[j] -= delta
                else:
                    work[j] -= delta
            j0 = j1
            if row_of[j0] == 0:
                break
        while j0:
            row_of[j0] = row_of[way[j0]]
            j0 = way[j0]
    return -v[0]


@inlined
def uniform_star_gain(i: int, x: int, free1: Any, free2: Any, problem: DenseProblem, count: Any) -> Any:
    """Return the same as `star_gain` if gains are uniform[1] for equal codes and uniform[2] for others."""
    _, _, first, second, _, _, near1, near2, uniform = problem
    a = b = common = 0
    for at in range(near1[i, 0]):
        j = near1[i, at + 1]
        if free1[j]:
            count[first[i, j]] += 1
            a += 1
    for at in range(near2[x, 0]):
        y = near2[x, at + 1]
        if free2[y]:
            b += 1
            if count[second[x, y]] > 0:
                count[second[x, y]] -= 1
                common += 1
    for at in range(near1[i, 0]):
        count[first[i, near1[i, at + 1]]] = 0
    return uniform[1] * common + uniform[2] * (min(a, b) - common)


@inner
def star_gain(i: int, x: int, free1: Any, free2: Any, problem: DenseProblem, scratch: Any) -> Any:
    """Return the largest gain (the most negative sum) of matching edges of i and x to free nodes."""
    if problem.uniform[0] > 0:
        return uniform_star_gain(i, x, free1, free2, problem, scratch[1])
    _, _, first, second, edge_gain, _, near1, near2, _ = problem
    cost, _, assignment = scratch
    a = b = 0
    for at in range(near1[i, 0]):
        j = near1[i, at + 1]
        if free1[j]:
            b = 0
            for to in range(near2[x, 0]):
                y = near2[x, to + 1]
                if free2[y]:
                    cost[a, b] = edge_gain[first[i, j], second[x, y]]
                    b += 1
            a += 1
    if a == 0 or b == 0:
        return 0.0
    if a == 1 or b == 1:
        best = 0.0
        for row in range(a):
            for column in range(b):
                best = min(best, cost[row, column])
        return best
    size = max(a, b)
    for row in range(size):
        for column in range(size):
            if row >= a or column >= b:
                cost[row, column] = 0.0
    return assign(cost, size, assignment)


@inner
def assignment_scratch(size: int) -> Any:
    """Return the arrays that `assign` works with: u, v, row_of, work."""
    return np.empty(size + 1), np.empty(size + 1), np.empty(size + 1, np.int64), np.empty(size + 1)


@inner
def star_scratch(problem: DenseProblem) -> Any:
    """Return the arrays that `star_gain` works with."""
    size = max(problem.near1.shape[1], problem.near2.shape[1])
    n_codes = max(problem.edge_gain.shape)
    return np.empty((size, size)), np.zeros(n_codes, np.int64), assignment_scratch(size)


@compiled
def branch_gains(problem: DenseProblem) -> FloatArray:
    """Return the gains of matching single nodes with half of their edges."""
    n, m = problem.node_gain.shape
    free1, free2 = np.ones(n, np.bool_), np.ones(m, np.bool_)
    scratch = star_scratch(problem)
    gains = np.empty((n, m))
    for i in range(n):
        for x in range(m):
            gains[i, x] = problem.node_gain[i, x] + 0.5 * star_gain(i, x, free1, free2, problem, scratch)
    return gains


@inlined
def gain_at(i: int, x: int, images: IntArray, problem: DenseProblem) -> Any:
    """Return the gain of i as x, next to all other mapped nodes."""
    if x < 0:
        return 0.0
    _, node_gain, first, second, edge_gain, _, near1, _, _ = problem
    gain = node_gain[i, x]
    for at in range(near1[i, 0]):
        j = near1[i, at + 1]
        y = images[j]
        if y >= 0:
            gain += edge_gain[first[i, j], second[x, y]]
    return gain


@inner
def give(i: int, x: int, images: IntArray, owner: IntArray) -> None:
    """Make x the image of i. -1 is no node."""
    if i >= 0:
        images[i] = x
    if x >= 0:
        owner[x] = i


@inner
def gain_of_move(i: int, y: int, images: IntArray, owner: IntArray, problem: DenseProblem) -> Any:
    """Give i the image y (-1: none), in exchange for its own. Return the change of the cost."""
    x, j = images[i], owner[y] if y >= 0 else -1
    before, after = gain_at(i, x, images, problem), 0.0
    if j >= 0:
        images[i] = -1
        before += gain_at(j, y, images, problem)
        images[j] = -1
        after = gain_at(j, x, images, problem)
    give(j, x, images, owner)
    give(i, y, images, owner)
    return after + gain_at(i, y, images, problem) - before


@inner
def owners(images: IntArray, m: int) -> IntArray:
    """Return the node whose image each node is, or -1 for none."""
    owner = np.full(m, -1)
    for i in range(len(images)):
        if images[i] >= 0:
            owner[images[i]] = i
    return owner


@inner
def wake(i: int, near1: IntArray, active: Any) -> None:
    """Mark a node and its neighbors as worth another look, unless the node is -1."""
    if i >= 0:
        active[i] = True
        for at in range(near1[i, 0]):
            active[near1[i, at + 1]] = True


@inner
def descend(images: IntArray, owner: IntArray, active: Any, problem: DenseProblem) -> Any:
    """Make moves of active nodes that lower the cost until there is none. Return the change of the cost."""
    near1, (n, m) = problem.near1, problem.node_gain.shape
    total, changed = 0.0, True
    while changed:
        changed = False
        for i in range(n):
            if not active[i]:
                continue
            active[i] = False
            for y in range(-1, m):
                x = images[i]
                if y == x:
                    continue
                j = owner[y] if y >= 0 else -1
                change = gain_of_move(i, y, images, owner, problem)
                if change < -TINY:
                    total += change
                    changed = True
                    wake(i, near1, active)
                    wake(j, near1, active)
                else:
                    give(i, x, images, owner)
                    give(j, y, images, owner)
    return total


@compiled
def improve(images: IntArray, restarts: int, problem: DenseProblem, floor: float) -> Any:
    """Improve a correspondence by moves and exchanges of nodes, with restarts. Return the change of the cost.

    A restart exchanges the images of three random nodes, and is taken back if the result is worse. The
    search ends if the change reaches `floor`.
    """
    near1 = problem.near1
    n, m = problem.node_gain.shape
    owner, active = owners(images, m), np.ones(n, np.bool_)
    total, best_total = 0.0, 0.0
    best = images.copy()
    state = np.uint64(88172645463325252)
    for trial in range(restarts + 1):
        if trial > 0:
            for _ in range(3):
                state ^= state << np.uint64(13)
                state ^= state >> np.uint64(7)
                state ^= state << np.uint64(17)
                i = np.int64(state >> np.uint64(33)) % n
                y = np.int64((state >> np.uint64(7)) & np.uint64(0xFFFFFF)) % m
                if images[i] != y:
                    wake(i, near1, active)
                    wake(owner[y], near1, active)
                    total += gain_of_move(i, y, images, owner, problem)
        total += descend(images, owner, active, problem)
        if total <= best_total:
            best_total = total
            best[:] = images
            if total <= floor + TINY:
                break
        else:
            images[:] = best
            total = best_total
            owner = owners(images, m)
    images[:] = best
    return best_total


@inner
def has_twin(twins: IntArray, columns: IntArray, b: int) -> Any:
    """Return whether an earlier column is a node that can be exchanged with that of column b."""
    found = False
    for c in range(b):
        found = found or twins[columns[c]] == twins[columns[b]]
    return found


@inner
def insert_sorted(bounds: FloatArray, children: IntArray, made: int, bound: float, x: int) -> None:
    """Insert an image among the first `made` ones, which are sorted by their bounds."""
    at = made
    while at > 0 and bounds[at - 1] > bound:
        bounds[at], children[at] = bounds[at - 1], children[at - 1]
        at -= 1
    bounds[at], children[at] = bound, x


@inner
def expand(d: int, tree: Tree, problem: DenseProblem, big: Any, best: float) -> None:
    """List the images of the node at depth d that may lead to a better correspondence, best bound first."""
    cost, columns, free1, assignment, scratch = big
    bounds, (u, v), (n, m) = tree.bounds[d], assignment[:2], problem.node_gain.shape
    height, width = n - d, 0
    for x in range(m):
        if tree.free2[x]:
            columns[width] = x
            width += 1
    for i in range(n):
        free1[i] = tree.place[i] >= d
    size = max(height, width)
    for a in range(size):
        for b in range(size):
            cost[a, b] = 0.0
            if a < height and b < width:
                i, x = tree.order[d + a], columns[b]
                star = star_gain(i, x, free1, tree.free2, problem, scratch)
                gain = problem.node_gain[i, x] + tree.cross[d, i, x] + 0.5 * star
                cost[a, b] = min(gain, 0.0)
                if a == 0:
                    bounds[b] = gain
    base = problem.total + tree.fixed[d] + assign(cost, size, assignment)
    tree.pointer[d] = tree.n_children[d] = made = 0
    limit = best - max(problem.step, 2 * TINY) + TINY
    if base >= limit:
        return
    smallest = np.inf
    for b in range(size):
        smallest = min(smallest, -v[b + 1])
    for b in range(width + 1):
        if b < width:
            x = columns[b]
            bound = base + max(bounds[b] - u[1] - v[b + 1], 0.0)
            if has_twin(tree.twins, columns, b):
                continue
        else:
            x, bound = -1, base + max(smallest - u[1], 0.0)
        if bound < limit:
            insert_sorted(bounds, tree.children[d], made, bound, x)
            made += 1
    tree.n_children[d] = made


@compiled
def search(depth: int, nodes: int, tree: Tree, problem: DenseProblem, best: Any) -> Any:
    """Search depth first, up to some nodes of the tree. Return the depth (-1: finished) and the best cost."""
    images, fixed, cross, pointer = tree.images, tree.fixed, tree.cross, tree.pointer
    n, m = problem.node_gain.shape
    size = max(n, m)
    big = (
        np.empty((size, size)), np.empty(size, np.int64), np.empty(n, np.bool_), assignment_scratch(size),
        star_scratch(problem),
    )  # fmt: skip
    d = depth
    if d == -2:  # not begun
        d = 0
        expand(0, tree, problem, big, best)
    visited = 0
    while d >= 0 and visited < nodes:
        i, at = tree.order[d], pointer[d]
        if images[i] >= 0:
            tree.free2[images[i]] = True
            images[i] = -1
        if at >= tree.n_children[d] or tree.bounds[d, at] >= best - max(problem.step, 2 * TINY) + TINY:
            d -= 1
            continue
        x = tree.children[d, at]
        pointer[d] += 1
        visited += 1
        images[i] = x
        fixed[d + 1] = fixed[d]
        if x >= 0:
            tree.free2[x] = False
            fixed[d + 1] += problem.node_gain[i, x] + cross[d, i, x]
        if d + 1 == n:
            if problem.total + fixed[n] < best - TINY:
                best = problem.total + fixed[n]
                tree.best_images[:] = images
            continue
        for a in range(d + 1, n):
            j = tree.order[a]
            p = problem.first[j, i]
            for y in range(m):
                cross[d + 1, j, y] = cross[d, j, y]
                if x >= 0 and p > 0 and tree.free2[y]:
                    cross[d + 1, j, y] += problem.edge_gain[p, problem.second[y, x]]
        d += 1
        images[tree.order[d]] = -1
        expand(d, tree, problem, big, best)
    return d, best


def solve(problem: EditProblem, time_limit: float, effort: int = QUICK) -> tuple[IntArray, float, bool]:
    """Return a correspondence, a lower bound on the edit distance, and whether the search was finished."""
    n, m = problem.g.n_nodes, problem.h.n_nodes
    if max(n, m) > DENSE_NODES or len(problem.bundles()[0]) > DENSE_LABELS:
        mapping = isomorphism(problem)
        mapping = propagated_mapping(problem) if mapping is None else mapping
        return mapping, histogram_bound(problem), False
    dense = problem.dense() if n <= m else problem.dense().turned()  # a level of the tree for each row
    images, lower, upper = bounds(dense, effort)
    finished = upper <= lower + TINY
    if not finished and lower <= TINY and n == m and n > EXACT_NODES:
        mapping = isomorphism(problem)
        if mapping is not None:
            return mapping, 0.0, False
    if not finished and time_limit > 0 and max(n, m) <= EXACT_NODES:
        upper += improved(dense, images, THOROUGH, lower - upper)
        images, found, finished = searched(dense, images, upper, time_limit)
        lower = max(lower, _rounded_up(found, dense.step))
    if n > m:
        inverse = np.full(n, -1)
        inverse[images[images >= 0]] = np.flatnonzero(images >= 0)
        images = inverse
    return images, lower, finished


def bounds(dense: DenseProblem, effort: int) -> tuple[IntArray, float, float]:
    """Return a correspondence, and a lower and an upper bound, by assignment and by improvement."""
    gains = branch_gains(dense)
    rows, columns = linear_sum_assignment(np.minimum(gains, 0.0))
    lower = dense.total + float(np.minimum(gains[rows, columns], 0.0).sum())
    lower = max(_rounded_up(lower, dense.step), 0.0)
    images = np.full(len(gains), -1)
    images[rows] = np.where(gains[rows, columns] < 0, columns, -1)
    mapped = np.flatnonzero(images >= 0)
    to = images[mapped]
    edges = dense.edge_gain[dense.first[np.ix_(mapped, mapped)], dense.second[np.ix_(to, to)]]
    upper = dense.total + float(dense.node_gain[mapped, to].sum() + edges.sum() / 2)
    return images, lower, upper + improved(dense, images, effort, lower - upper)


def improved(dense: DenseProblem, images: IntArray, effort: int, floor: float) -> float:
    """Improve a correspondence with as many restarts as the effort allows. Return the change of the cost."""
    n, m = dense.node_gain.shape
    if not (n and m and floor < 0):
        return 0.0
    restarts = min(effort // (n * m), MOST_RESTARTS)
    return float(improve(images, restarts, dense, floor))


def _rounded_up(bound: float, step: float) -> float:
    return bound if step == 0 else step * math.ceil(bound / step - 1e-6)


def isomorphism(problem: EditProblem) -> IntArray | None:
    """Return an isomorphism of the graphs with equal codes, if they have one and it is found."""
    g, h = problem.g, problem.h
    if g.n_nodes != h.n_nodes or len(g.edges) != len(h.edges):
        return None
    graphs = [
        Graph(
            side.n_nodes, side.pairs(), side.nodes.astype(float), own.astype(float), directed=problem.directed
        )
        for side, own in zip((g, h), problem.bundles()[1], strict=True)
    ]
    one, other = certificates(graphs)
    if one.compare(other) != "isomorphic":
        return None
    mapping = np.empty(g.n_nodes, np.int64)
    mapping[one.order] = other.order
    return mapping


def searched(
    problem: DenseProblem, images: IntArray, best: float, time_limit: float
) -> tuple[IntArray, float, bool]:
    """Search exactly until the time limit, from a correspondence and its cost.

    Returns the best correspondence, a lower bound on the cost of all, by the branches that were not visited,
    and whether there are none.
    """
    n, m = problem.node_gain.shape
    order = _order(problem.first)
    tree = Tree(
        order, np.argsort(order), np.ones(m, np.bool_), _twins(problem), np.zeros((n + 1, n, m)),
        np.zeros(n + 1), np.zeros((n + 1, m + 1), np.int64), np.zeros((n + 1, m + 1)),
        np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64), np.full(n, -1), images.astype(np.int64),
    )  # fmt: skip
    depth, best = search(-2, 0, tree, problem, best)  # may compile, so the clock starts after it
    end = time.monotonic() + time_limit
    while depth >= 0 and time.monotonic() < end:
        depth, best = search(depth, VISITS, tree, problem, best)
    waiting = [
        tree.bounds[d, tree.pointer[d] : tree.n_children[d]].min(initial=best) for d in range(depth + 1)
    ]
    return tree.best_images, float(min([best, *waiting])), depth == -1


def _order(codes: IntArray) -> IntArray:
    """Return nodes by the number of neighbors that come earlier, then by degree."""
    connected = codes > 0
    degrees, earlier = connected.sum(axis=1), np.zeros(len(codes), np.int64)
    order: list[int] = []
    left = np.ones(len(codes), bool)
    for _ in range(len(codes)):
        score = np.where(left, earlier * (len(codes) + 1) + degrees, -1)
        order.append(int(np.argmax(score)))
        left[order[-1]] = False
        earlier += connected[order[-1]]
    return np.array(order, np.int64)


def _twins(problem: DenseProblem) -> IntArray:
    """Return a number for each node of h, equal for nodes that can be exchanged without any effect."""
    codes, gains = problem.second, problem.node_gain
    label = np.arange(len(codes))
    groups: dict[tuple[bytes, bytes], list[int]] = {}
    for x in range(len(codes)):
        alike = groups.setdefault((gains[:, x].tobytes(), np.sort(codes[x]).tobytes()), [])
        for y in alike:
            swapped = np.arange(len(codes))
            swapped[[x, y]] = y, x
            if np.array_equal(codes[np.ix_(swapped, swapped)], codes):
                label[x] = y
                break
        else:
            alike.append(x)
    return label
