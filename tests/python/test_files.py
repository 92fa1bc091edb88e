"""Files that others write: NumPy's arrays for the program, Parquet and Feather for frames."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import kerbin


@pytest.fixture(scope="module")
def table(waves):
    """Features with a gap, and two classes in the last column."""
    X, y = waves
    X = X.copy()
    X[4, 1] = np.nan
    return np.column_stack([X, y > 0.5])


def train(program, path, *options):
    model = path.with_suffix(".kerbin")
    program("train", "-q", "--tune", "off", *options, "-o", model, path)
    return model


@pytest.fixture(scope="module")
def from_csv(table, program, tmp_path_factory):
    path = tmp_path_factory.mktemp("csv") / "table.csv"
    pd.DataFrame(table).to_csv(path, header=False, index=False)
    return train(program, path).read_bytes()


@pytest.mark.parametrize(
    "write",
    [
        lambda path, table: np.save(path, table),
        lambda path, table: np.save(path, np.asfortranarray(table)),
        lambda path, table: np.savez(path, X=table[:, :-1], y=table[:, -1]),
        lambda path, table: np.savez(path, target=table[:, -1].astype("i1"), data=table[:, :-1]),
        lambda path, table: np.savez_compressed(path, x=table[:, :-1], label=table[:, -1] > 0),
    ],
    ids="npy fortran npz integers booleans".split(),
)
def test_an_array_gives_the_model_of_the_csv(write, table, from_csv, program, tmp_path):
    path = tmp_path / "table"  # known by its first bytes
    with open(path, "wb") as file:
        write(file, table)
    model = train(program, path)
    assert model.read_bytes() == from_csv
    np.save(tmp_path / "new.npy", table[:, :-1])
    want = program("predict", "-o", "-", model, path)
    assert program("predict", "-o", "-", model, tmp_path / "new.npy") == want
    back = kerbin.BinningClassifier.load(model)
    assert np.array_equal(back.predict(table[:, :-1]), [float(line) for line in want.split()])


@pytest.mark.parametrize("kind", "f4 i1 i2 i4 i8 u1 u2 u4 u8 ?".split())
def test_numbers_of_every_type_are_read(kind, program, tmp_path):
    rng = np.random.default_rng(2)
    whole = rng.integers(0, 2 if kind == "?" else 100, (50, 3)) - (kind[0] == "i") * 50
    np.save(tmp_path / "some.npy", whole.astype(kind))
    np.save(tmp_path / "double.npy", whole.astype("f8"))
    some, double = (
        train(program, tmp_path / f"{name}.npy", "--task", "regression").read_bytes()
        for name in ("some", "double")
    )
    assert some == double


def test_columns_of_an_array_have_numbers(table, program, tmp_path):
    np.save(tmp_path / "first.npy", table[:, [3, 0, 1, 2]])
    np.save(tmp_path / "last.npy", table[:, [1, 2, 3]])
    first = train(program, tmp_path / "first.npy", "--label", 1, "--ignore", 2)
    last = train(program, tmp_path / "last.npy")
    want = program("predict", "-o", "-", last, tmp_path / "last.npy")
    assert program("predict", "-o", "-", first, tmp_path / "first.npy") == want


@pytest.mark.parametrize(
    "array, words",
    [
        (np.array([["a", 1]], dtype=object), "an array of the type '|O' is not read: save a plain"),
        (np.array([["a", "b"]]), "an array of the type '<U1' is not read"),
        (np.ones((2, 2), dtype=">f8"), "an array of the type '>f8' is not read"),
        (np.ones((2, 2), dtype=complex), "an array of the type '<c16' is not read"),
        (np.ones(2, dtype=[("a", "f8")]), "an array of the type [('a' is not read"),
        (np.ones(5), "an array must have 2 dimensions, samples and features"),
        (np.ones((5, 2, 2)), "an array must have 2 dimensions"),
        (np.ones((0, 3)), "no samples: the array is empty"),
        (np.array([[1, 2], [np.inf, 3]]), "row 2, column 1: the value is infinite"),
    ],
)
def test_other_arrays_are_refused(array, words, program, tmp_path):
    np.save(tmp_path / "odd.npy", array)
    with pytest.raises(AssertionError) as error:
        program("train", "-o", tmp_path / "m.kerbin", tmp_path / "odd.npy")
    assert f"odd.npy: {words}" in str(error.value)


# ---- Parquet and Arrow -------------------------------------------------------

FORMATS = {"parquet": "to_parquet", "feather": "to_feather"}


@pytest.mark.parametrize("kind", FORMATS)
def test_frames_come_from_parquet_and_feather(kind, waves, tmp_path):
    """The recipe of docs/python.md."""
    pytest.importorskip("pyarrow")
    X, y = waves
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(
        town=np.where(X[:, 0] > 0.5, "Ulm", "Bonn"), price=y
    )
    path = tmp_path / f"houses.{kind}"
    getattr(frame, FORMATS[kind])(path)
    table = getattr(pd, f"read_{kind}")(path)
    model = kerbin.BinningRegressor(tune="off").fit(table.drop(columns="price"), table["price"])
    want = kerbin.BinningRegressor(tune="off").fit(frame.drop(columns="price"), y)
    assert model._model.to_bytes() == want._model.to_bytes()


@pytest.mark.parametrize("kind", FORMATS)
def test_the_advice_of_the_program_works(kind, waves, program, tmp_path):
    pytest.importorskip("pyarrow")
    X, y = waves
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(price=y)
    path = tmp_path / f"houses.{kind}"
    getattr(frame, FORMATS[kind])(path)
    with pytest.raises(AssertionError, match="is not read; make it CSV: python3 -c") as error:
        program("train", "-o", tmp_path / "m.kerbin", path)
    line = [line for line in str(error.value).splitlines() if "make it CSV" in line][0]
    code = line.split('python3 -c "')[1].split('"')[0]
    subprocess.run([sys.executable, "-c", code], check=True)
    assert pd.read_csv(f"{path}.csv").equals(frame)
