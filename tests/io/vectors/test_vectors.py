import csv
import gc
import io
import weakref

import numpy as np
import pytest

from grnf import GraphError
from grnf.io.raw import Cell
from grnf.io.vectors import (
    VECTOR_FORMATS,
    ShardWriter,
    VectorBlock,
    holds_vectors,
    read_vectors,
    write_csv,
    write_vectors,
)
from optional import require

pa = require("pyarrow")
pq = require("pyarrow.parquet")


def blocks(y=(1, 2, 3), dtype=np.float32):
    Z = np.random.default_rng(0).normal(size=(3, 4)).astype(dtype)
    return Z, [VectorBlock(["a", 'b,"'], list(y[:2]), Z[:2]), VectorBlock(["ccc"], list(y[2:]), Z[2:])]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("format", VECTOR_FORMATS)
def test_round_trip(tmp_path, format, dtype):
    Z, parts = blocks(dtype=dtype)
    path = tmp_path / f"z.{format}"
    assert not holds_vectors(path)
    assert write_vectors(path, parts) == 3
    assert holds_vectors(path)
    found = read_vectors(path)
    np.testing.assert_array_equal(np.asarray(found.Z, dtype=dtype), Z)
    if format != "npy":
        assert found.ids == ["a", 'b,"', "ccc"]
        assert [int(y) for y in found.y] == [1, 2, 3]
    assert write_vectors(path, [VectorBlock([], [], np.zeros((0, 2), dtype=dtype))]) == 0
    assert read_vectors(path).ids == []
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_parquet_is_what_others_expect(tmp_path):
    _, parts = blocks()
    write_vectors(tmp_path / "z.parquet", parts)
    with pq.ParquetFile(tmp_path / "z.parquet") as file:
        assert file.schema_arrow.field("embedding").type == pa.list_(pa.float32(), 4)
        assert file.schema_arrow.names == ["graph_id", "y", "embedding"]
        assert [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)] == [2, 1]


@pytest.mark.parametrize("format", VECTOR_FORMATS)
def test_one_block_at_a_time_is_in_memory(tmp_path, format):
    alive = weakref.WeakSet()
    most = []

    def many():
        for number in range(20):
            gc.collect()
            most.append(len(alive))
            block = VectorBlock([str(number)], [None], np.full((1, 3), float(number)))
            alive.add(block)
            yield block
            del block

    gc.freeze()  # what was there before need not be looked at twenty times
    try:
        assert write_vectors(tmp_path / f"z.{format}", many()) == 20
    finally:
        gc.unfreeze()
    assert max(most) <= 1
    np.testing.assert_array_equal(read_vectors(tmp_path / f"z.{format}").Z[:, 0], np.arange(20))


def test_a_failure_leaves_the_old_file(tmp_path):
    path = tmp_path / "z.npy"
    path.write_text("old")

    def broken():
        yield VectorBlock(["a"], [None], np.zeros((1, 2)))
        raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space"):
        write_vectors(path, broken())
    assert [file.read_text() for file in tmp_path.iterdir()] == ["old"]


def test_blocks_must_fit_together(tmp_path):
    with pytest.raises(ValueError, match="equal length and type"):
        write_vectors(
            tmp_path / "z.npy", [VectorBlock([], [], np.zeros((0, 2))), VectorBlock([], [], np.zeros((0, 3)))]
        )
    with pytest.raises(ValueError, match="one id, one y and one row of Z per graph"):
        VectorBlock(["a"], [], np.zeros((1, 2)))
    with pytest.raises(ValueError, match="must have at least one block of vectors"):
        write_vectors(tmp_path / "z.npy", [])
    with pytest.raises(ValueError, match="must end in one of"):
        write_vectors(tmp_path / "z.txt", [])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("z.npy", b"\x93NUMPY", "holds no vectors"),
        ("z.npz", b"PK\x03\x04", "holds no vectors"),
        ("z.parquet", b"PAR1", "holds no vectors"),
        ("z.csv", b"a,b\n", "the first line must begin"),
        ("z.csv", b"graph_id,y,grnf0,grnf1\na,,1\n", "line 2: 4 columns expected, 3 found"),
        ("z.csv", b"graph_id,y,grnf0\na,,x\n", "holds no vectors"),
    ],
)
def test_damage_is_named(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(GraphError, match=message):
        read_vectors(tmp_path / name)


def test_other_arrays_are_no_vectors(tmp_path):
    np.save(tmp_path / "z.npy", np.zeros((2, 3, 3)))
    assert not holds_vectors(tmp_path / "z.npy")
    with pytest.raises(GraphError, match="shape"):
        read_vectors(tmp_path / "z.npy")
    with pytest.raises(GraphError, match="does not exist"):
        read_vectors(tmp_path / "none.npy")
    np.save(tmp_path / "pickle.npy", np.array([{}], dtype=object), allow_pickle=True)
    assert not holds_vectors(tmp_path / "pickle.npy")


def written(path, blocks, *, stop=None, resume=False, run=None):
    """Write blocks as the shards of a run, and end it unless it stops before; return the writer."""
    with ShardWriter(path, single=True) as writer:
        writer.begin(run or {"seed": 0}, dict, resume=resume)
        missing = [number for number in range(len(blocks)) if number not in writer.records]
        for number in missing[:stop]:
            writer.write(number, blocks[number], [])
        if stop is None:
            writer.finish({"run": run or {"seed": 0}, "bad": []})
    return writer


@pytest.mark.parametrize("format", VECTOR_FORMATS)
@pytest.mark.parametrize("late", [False, True])
def test_resumed_runs_make_the_same_bytes(tmp_path, format, late):
    """With `late`, a late block changes the type of a column: a Parquet file is written again at the end."""
    Z = np.random.default_rng(0).normal(size=(6, 5)).astype(np.float32)
    values = [1, 2, 3, 4, "x" if late else 5, None]
    cut = [VectorBlock([f"g{i}"], [i if i else None], Z[i : i + 1], {"k": [values[i]]}) for i in range(6)]
    written(tmp_path / f"a.{format}", cut)
    expected = (tmp_path / f"a.{format}").read_bytes()
    for stop in range(1, 6):
        output = tmp_path / f"b{stop}.{format}"
        written(output, cut, stop=stop)
        written(output, cut, resume=True)
        assert output.read_bytes() == expected
        assert not output.with_name(f"b{stop}.{format}.parts").exists()
    for damaged in range(5):  # shards between others are written where they were
        output = tmp_path / f"c{damaged}.{format}"
        writer = written(output, cut, stop=6)
        (writer.work / f"{damaged:06d}.json").unlink()
        written(output, cut, resume=True)
        assert output.read_bytes() == expected
    if format == "parquet":
        table = pq.read_table(tmp_path / "a.parquet")
        assert table["k"].to_pylist() == [str(v) if late and v is not None else v for v in values]
        assert table["y"].to_pylist() == [None, 1, 2, 3, 4, 5]


def test_each_vector_is_written_once(tmp_path):
    """The output is the file to which the shards were appended, in every format."""
    _, cut = blocks()
    for format in VECTOR_FORMATS:
        output = tmp_path / f"z.{format}"
        writer = written(output, cut, stop=2)
        growing = writer.file.stat()
        written(output, cut, resume=True)
        assert output.stat().st_ino == growing.st_ino
        assert growing.st_size <= output.stat().st_size


def test_folders_of_others_are_left_alone(tmp_path):
    (tmp_path / "z.npy.parts").mkdir()
    (tmp_path / "z.npy.parts" / "thesis.tex").write_text("do not lose this")
    with pytest.raises(ValueError, match=r"is in the way: it holds thesis\.tex"):
        written(tmp_path / "z.npy", blocks()[1])
    assert (tmp_path / "z.npy.parts" / "thesis.tex").exists()
    (tmp_path / "y.npy.parts").mkdir()
    (tmp_path / "y.npy.parts" / "plan.json").write_text("{")
    with pytest.raises(FileExistsError, match="is damaged"):
        written(tmp_path / "y.npy", blocks()[1])


@pytest.mark.parametrize(
    ("given", "arrow", "found", "array"),
    [
        ([Cell("1"), None, Cell("-3")], pa.int64(), [1, None, -3], [1, np.nan, -3]),
        ([Cell("1.50"), Cell("2"), Cell("NA")], pa.float64(), [1.5, 2, None], [1.5, 2, np.nan]),
        ([Cell("1.50"), Cell("NA"), Cell("x")], pa.string(), ["1.50", "NA", "x"], ["1.50", "NA", "x"]),
        ([Cell("007"), Cell("12"), None], pa.string(), ["007", "12", None], ["007", "12", ""]),
        ([Cell("NA"), None, None], pa.string(), ["NA", None, None], ["NA", "", ""]),
        (["1", "2", "3"], pa.string(), ["1", "2", "3"], ["1", "2", "3"]),  # text that the source calls text
        ([1, 2, 3], pa.int64(), [1, 2, 3], [1, 2, 3]),
        ([1, 2.5, None], pa.float64(), [1.0, 2.5, None], [1, 2.5, np.nan]),
        (["x", 2, [1, 2]], pa.string(), ["x", "2", "[1, 2]"], ["x", "2", "[1, 2]"]),
        ([2**70, 1, 2], pa.string(), [str(2**70), "1", "2"], [str(2**70), "1", "2"]),
        ([None, None, None], pa.string(), [None, None, None], ["", "", ""]),
    ],
)
def test_labels_and_columns_of_every_kind(tmp_path, given, arrow, found, array):
    Z, _ = blocks()
    cut = [
        VectorBlock(["a", "b"], given[:2], Z[:2], {"k": given[:2]}),
        VectorBlock(["c"], given[2:], Z[2:], {"k": given[2:]}),
    ]
    for format in VECTOR_FORMATS:
        write_vectors(tmp_path / f"z.{format}", cut)
        np.testing.assert_allclose(read_vectors(tmp_path / f"z.{format}").Z, Z, rtol=1e-6)
    table = pq.read_table(tmp_path / "z.parquet")
    labeled = any(value is not None for value in given)
    assert ("y" in table.column_names) == labeled
    with np.load(tmp_path / "z.npz") as arrays:
        assert ("y" in arrays) == labeled
        for name in ("k", "y") if labeled else ("k",):
            assert table.schema.field(name).type == arrow
            assert table[name].to_pylist() == found
            np.testing.assert_array_equal(arrays[name], array)
    assert read_vectors(tmp_path / "z.parquet").y == (found if labeled else None)
    with open(tmp_path / "z.csv", newline="") as file:
        head, *rows = csv.reader(file)
    texts = ["" if value is None else str(value) for value in given]
    assert [(row[1], row[2]) for row in rows] == [(text, text) for text in texts]
    assert head[1:3] == ["y", "k"]


def test_blocks_without_a_column_have_nothing_in_it(tmp_path):
    Z, _ = blocks()
    with_it, without = VectorBlock(["a"], [None], Z[:1], {"k": [1]}), VectorBlock(["b"], [None], Z[1:2])
    write_vectors(tmp_path / "z.parquet", [without, with_it])
    assert pq.read_table(tmp_path / "z.parquet")["k"].to_pylist() == [None, 1]
    write_vectors(tmp_path / "z.npz", [without, with_it])
    with np.load(tmp_path / "z.npz") as arrays:
        np.testing.assert_array_equal(arrays["k"], [np.nan, 1])
    assert write_csv(io.StringIO(), [with_it, without]) == 2
    with pytest.raises(ValueError, match=r"must all have the columns \[\], got \['k'\]"):
        write_csv(io.StringIO(), [without, with_it])


def test_columns_must_fit_their_block():
    with pytest.raises(ValueError, match="column 'k' must have 1 entries, one per row, got 2"):
        VectorBlock(["a"], [None], np.zeros((1, 2)), {"k": [1, 2]})
    with pytest.raises(ValueError, match=r"the name of a column must differ .*, got 'grnf7'"):
        VectorBlock(["a"], [None], np.zeros((1, 2)), {"grnf7": [1]})


@pytest.mark.parametrize("change", [lambda text: text.replace("CO", "CC"), lambda text: text[:-9]])
def test_a_record_that_was_changed_counts_for_nothing(tmp_path, change):
    Z, _ = blocks()
    cut = [VectorBlock(["a"], [None], Z[:1], {"smiles": ["CO"]}), VectorBlock(["b"], [None], Z[1:2])]
    writer = written(tmp_path / "z.npz", cut, stop=2)
    record = writer.work / "000000.json"
    record.write_text(change(record.read_text()))
    with ShardWriter(tmp_path / "z.npz", single=True) as again:
        again.begin({"seed": 0}, dict, resume=True)
        assert again.damaged == {0: "000000.json is not as it was written"}
        assert list(again.records) == [1]


def test_shards_must_fit_those_around(tmp_path):
    Z, (first, second) = blocks()
    with ShardWriter(tmp_path / "z.npy", single=True) as writer:
        writer.begin({}, dict)
        writer.write(0, first, [])
        writer.write(1, second, [])
        with pytest.raises(ValueError, match=r"equal length and type, got lengths \[.*\], types"):
            writer.write(2, VectorBlock(["d"], [None], np.zeros((1, 9))), [])
        with pytest.raises(ValueError, match=r"shard 0 has another size than before, .* Start over"):
            writer.write(0, VectorBlock(["a"], [None], Z[:1]), [])
    with ShardWriter(tmp_path / "z.csv", single=True) as writer:
        writer.begin({}, dict)
        writer.write(0, first, [])
        with pytest.raises(ValueError, match=r"must all have the columns \[\], got \['k'\]"):
            writer.write(1, VectorBlock(["d"], [None], Z[:1], {"k": [1]}), [])


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (3, 4096)])
def test_npy_of_any_shape_is_as_numpy_writes_it(tmp_path, shape):
    Z = np.arange(np.prod(shape), dtype="f4").reshape(shape)
    written(tmp_path / "z.npy", [VectorBlock(["a"] * len(Z), [None] * len(Z), Z)])
    np.save(tmp_path / "y.npy", Z)
    assert (tmp_path / "z.npy").read_bytes() == (tmp_path / "y.npy").read_bytes()
