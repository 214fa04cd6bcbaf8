"""Rows of tables brought together by graph; those that must wait do so in a temporary database."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing

from grnf.errors import GraphError
from grnf.io.files.tables import Row

__all__ = ["GraphNumbers", "sorted_rows"]


def _temporary_database() -> sqlite3.Connection:
    """Open a database in a file of its own that goes away with it; SQLite keeps two megabytes in memory."""
    database = sqlite3.connect("", isolation_level=None)
    database.execute("PRAGMA journal_mode = OFF")
    database.execute("BEGIN")
    return database


class GraphNumbers:
    """The numbers of graphs, from 0 in the order in which their ids were first met.

    Examples
    --------
    >>> numbers = GraphNumbers()
    >>> [numbers.add(name) for name in ("a", "b", "a")]
    [0, 1, 0]
    >>> numbers.close()
    """

    def __init__(self) -> None:
        self.database = _temporary_database()
        self.database.execute("CREATE TABLE graphs (number INTEGER PRIMARY KEY, id BLOB UNIQUE)")
        self.count = 0

    def add(self, graph_id: str) -> int:
        """Return the number of a graph, a new one if it has none."""
        name = _bytes(graph_id)
        if self.database.execute("INSERT OR IGNORE INTO graphs VALUES (?, ?)", (self.count, name)).rowcount:
            self.count += 1
            return self.count - 1
        (number,) = self.database.execute("SELECT number FROM graphs WHERE id = ?", (name,)).fetchone()
        return int(number)

    def close(self) -> None:
        """Forget everything."""
        self.database.close()


def sorted_rows(rows: Iterable[tuple[int, str, Row]]) -> Iterator[tuple[int, str, Row]]:
    """Sort rows by number, those of one number in the order in which they come.

    Examples
    --------
    >>> rows = [(1, "b", Row("line 2", {"x": 1})), (0, "a", Row("line 3", {"x": None}))]
    >>> [(number, row.where) for number, _, row in sorted_rows(rows)]
    [(0, 'line 3'), (1, 'line 2')]
    """
    with closing(_temporary_database()) as database:
        database.execute("CREATE TABLE rows (number INTEGER, id BLOB, row BLOB)")
        try:
            database.executemany(
                "INSERT INTO rows VALUES (?, ?, ?)",
                ((number, _bytes(name), _bytes(json.dumps(row, default=str))) for number, name, row in rows),
            )
            query = "SELECT number, id, row FROM rows ORDER BY number, rowid"
            for number, name, content in database.execute(query):
                yield number, name.decode("utf-8", "surrogatepass"), Row(*json.loads(content))
        except sqlite3.Error as error:
            raise GraphError(
                f"the rows of one graph do not stand together, and sorting them on disk failed: {error}"
            ) from None


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
