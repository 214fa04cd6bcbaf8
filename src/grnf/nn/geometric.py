"""GRNF in the conventions of PyTorch Geometric: a model, an aggregation, and lifts as a transform."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from torch import Tensor, nn

try:
    from torch_geometric.data import Batch, Data
    from torch_geometric.nn import MLP
    from torch_geometric.nn.aggr import Aggregation
    from torch_geometric.transforms import BaseTransform
except ImportError as error:
    raise ImportError("this part of grnf.nn needs PyTorch Geometric: pip install 'grnf[pyg]'") from error

from grnf.errors import GraphError, invalid
from grnf.nn.layer import GRNFLayer


class GRNFEncoder(nn.Module):
    """Graph-level model: `GRNFLayer`, batch normalization, and a multilayer perceptron.

    With a frozen layer, two linear maps and no dropout it is the architecture of the paper.

    Parameters
    ----------
    in_channels : int
        Columns of `x`.
    hidden_channels : int
        Width of the hidden layers of the perceptron.
    out_channels : int
    num_layers : int, default=2
        Linear maps after the features.
    n_features : int, default=512
        Features of the GRNF layer.
    edge_dim : int, optional
        Columns of `edge_attr`.
    dropout : float, default=0.0
    **layer : optional
        Further arguments of `GRNFLayer`.

    Examples
    --------
    >>> import torch
    >>> model = GRNFEncoder(2, 16, 3, n_features=32, random_state=0)
    >>> edge_index = torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])
    >>> model(torch.ones(4, 2), edge_index, batch=torch.tensor([0, 0, 1, 1])).shape
    torch.Size([2, 3])
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        *,
        n_features: int = 512,
        edge_dim: int | None = None,
        dropout: float = 0.0,
        **layer: Any,
    ) -> None:
        super().__init__()
        self.grnf = GRNFLayer(in_channels, n_features, edge_dim, **layer)
        self.norm = nn.BatchNorm1d(n_features, eps=1e-8)  # features of similar graphs vary little
        widths = [n_features, *[hidden_channels] * (num_layers - 1), out_channels]
        self.mlp = MLP(widths, dropout=dropout, norm=None)

    def reset_parameters(self) -> None:
        """Draw all parameters again; the GRNF coefficients from their seed."""
        for part in (self.grnf, self.norm, self.mlp):
            part.reset_parameters()

    def forward(self, *graphs: Any, **more: Any) -> Tensor:
        """Return the outputs of the graphs of a batch.

        Parameters
        ----------
        *graphs, **more : Tensor, Data or Batch
            As in `GRNFLayer.forward`.

        Returns
        -------
        Tensor, shape (graphs, out_channels)

        Examples
        --------
        >>> from torch_geometric.data import Batch
        >>> from grnf import Graph
        >>> graphs = [Graph(2, [(0, 1)], [1.0, 2.0]), Graph(3, [(0, 1)], [1.0, 2.0, 3.0])]
        >>> batch = Batch.from_data_list([graph.to_pyg() for graph in graphs])
        >>> GRNFEncoder(1, 8, 3, n_features=16, random_state=0).double()(batch).shape
        torch.Size([2, 3])
        """
        return self.mlp(self.norm(self.grnf(*graphs, **more)))  # type: ignore[no-any-return]


class GRNFAggregation(Aggregation):  # type: ignore[misc]
    """Aggregation of node features by GRNF: a readout of any graph neural network.

    Features of order 1 are sums over nodes, those of order 2 sums over pairs of nodes. With `edge_index` the
    pairs that carry an edge are distinguished.

    Parameters
    ----------
    in_channels, out_channels : int
        Columns of the node features, and of the result.
    **layer : optional
        Further arguments of `GRNFLayer`.

    Examples
    --------
    >>> import torch
    >>> aggregation = GRNFAggregation(2, 16, random_state=0)
    >>> aggregation(torch.ones(3, 2), torch.tensor([0, 0, 1])).shape
    torch.Size([2, 16])
    """

    def __init__(self, in_channels: int, out_channels: int, **layer: Any) -> None:
        super().__init__()
        self.grnf = GRNFLayer(in_channels, out_channels, **layer)

    def reset_parameters(self) -> None:
        """Draw the coefficients again from their seed."""
        self.grnf.reset_parameters()

    def forward(
        self,
        x: Tensor,
        index: Tensor | None = None,
        ptr: Tensor | None = None,
        dim_size: int | None = None,
        dim: int = -2,
        edge_index: Tensor | None = None,
    ) -> Tensor:
        """Aggregate the rows of `x` of each index.

        Parameters
        ----------
        x : Tensor, shape (nodes, in_channels)
        index : Tensor of int, shape (nodes,), optional
            The graph of each node.
        ptr : Tensor of int, optional
            Instead of `index`: where the nodes of each graph start, if they are sorted.
        dim_size : int, optional
            Number of graphs.
        dim : int, default=-2
            Must be that of the nodes.
        edge_index : Tensor of int, shape (2, edges), optional

        Returns
        -------
        Tensor, shape (graphs, out_channels)

        Examples
        --------
        >>> import torch
        >>> aggregation = GRNFAggregation(2, 16, random_state=0)
        >>> edge_index = torch.tensor([[0, 1], [1, 0]])
        >>> aggregation(torch.ones(3, 2), torch.tensor([0, 0, 1]), edge_index=edge_index).shape
        torch.Size([2, 16])
        """
        self.assert_two_dimensional_input(x, dim)
        if index is None and ptr is not None:
            index = torch.repeat_interleave(ptr.diff())
        return self.grnf(x, edge_index, batch=index, batch_size=dim_size)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.grnf.in_channels}, {self.grnf.out_channels})"


class LiftTransform(BaseTransform):  # type: ignore[misc]
    """Lifts of `grnf.lifts` as a transform: a network gets the channels that a pipeline of lifts gives.

    Call `fit` with the training graphs first. The result has `x` and `edge_attr` of all channels, and lists
    both arcs of each edge of an undirected graph; other attributes of the data are kept.

    Parameters
    ----------
    *lifts : Lift
        Applied one after the other. Label lifts such as `WeisfeilerLehman` need `dim`.
    categorical : bool, default=False
        Treat every column of integers in `x` and `edge_attr` as categories, such as the atom codes of OGB and
        ZINC: one column per value in the training graphs, zeros for others. By default codes are numbers.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from grnf.lifts import Encode
    >>> data = Data(x=torch.tensor([[6], [8]]), edge_index=torch.tensor([[0, 1], [1, 0]]))
    >>> transform = LiftTransform(Encode(), categorical=True).fit([data])
    >>> transform(data).x.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    def __init__(self, *lifts: Any, categorical: bool = False) -> None:
        if not lifts:
            raise invalid("lifts", "be one lift of grnf.lifts or more", "none", "Encode adds nothing")
        self.lifts = lifts
        self.categorical = categorical

    def fit(self, dataset: Sequence[Any]) -> Self:
        """Learn categories and lifts from the training graphs.

        Parameters
        ----------
        dataset : sequence of torch_geometric.data.Data

        Returns
        -------
        self : LiftTransform
        """
        given = list(dataset)
        self.values_ = {name: _values([data.get(name) for data in given]) for name in ("x", "edge_attr")}
        graphs: Any = [self._encoded(data) for data in given]
        self.lifts_ = []
        for lift in self.lifts:
            self.lifts_.append(clone(lift))
            graphs = self.lifts_[-1].fit_transform(graphs)
        if graphs.node_codes.values.shape[1] or graphs.edge_codes.values.shape[1]:
            raise GraphError(
                "a network needs a fixed number of columns, and labels have an open vocabulary",
                cure="Give the lift of labels a number of columns, such as dim=16",
            )
        return self

    def forward(self, data: Any) -> Any:
        """Return the data with the channels of the lifts.

        Parameters
        ----------
        data : torch_geometric.data.Data

        Returns
        -------
        torch_geometric.data.Data

        Examples
        --------
        >>> from grnf import Graph
        >>> from grnf.lifts import Degree
        >>> path = Graph(3, [(0, 1), (1, 2)]).to_pyg()
        >>> LiftTransform(Degree()).fit([path])(path).x.shape  # the call is `forward`
        torch.Size([3, 1])
        """
        if not hasattr(self, "lifts_"):
            raise NotFittedError("this LiftTransform is not fitted. Call fit with the training graphs first")
        if hasattr(data, "to_data_list"):
            return Batch.from_data_list([self(one) for one in data.to_data_list()])
        graphs: Any = [self._encoded(data)]
        for lift in self.lifts_:
            graphs = lift.transform(graphs)
        lifted = graphs[0].to_pyg()
        data.edge_index, data.num_nodes = lifted.edge_index, lifted.num_nodes
        for name in ("x", "edge_attr"):
            values = lifted.get(name)
            data[name] = None if values is None else values.float()
        data.edge_weight = None  # a column of edge_attr now
        return data

    def _encoded(self, data: Any) -> Data:
        """Return what the lifts read, with one column per category if asked for."""
        parts = {name: data.get(name) for name in ("x", "edge_index", "edge_attr", "edge_weight")}
        if self.categorical:
            for name, known in self.values_.items():
                if known is not None and parts[name] is not None:
                    columns = parts[name].reshape(len(parts[name]), -1).T
                    one_hot = [column[:, None] == kept for column, kept in zip(columns, known, strict=True)]
                    parts[name] = torch.cat(one_hot, dim=1).float()
        given = {name: part for name, part in parts.items() if part is not None}
        return Data(**given, num_nodes=data.num_nodes)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.lifts))})"


def _values(parts: list[Tensor | None]) -> list[Tensor] | None:
    """Return the values of each column, or None for attributes that are absent or not integers."""
    given = [part.reshape(len(part), -1) for part in parts if part is not None]
    if not given or any(part.is_floating_point() for part in given):
        return None
    return [column.unique() for column in torch.cat(given).T]
