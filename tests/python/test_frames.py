"""Data frames: every library gives the same bits, and columns are taken as what they are."""

import datetime
import decimal
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import kerbin
from kerbin._frames import Frame
from kerbin._options import TABLE

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
pytestmark = pytest.mark.filterwarnings("ignore:column 'key' has a text of its own")


@pytest.fixture(scope="module")
def houses():
    """A frame with a column of each kind, and prices."""
    rng = np.random.default_rng(5)
    n = 300
    frame = pd.DataFrame(
        {
            "size": rng.random(n),
            "town": rng.choice(["Bonn", "Ulm", "Kiel", "Köln"], n),
            "kind": pd.Categorical(rng.choice(["flat", "house", "hut"], n)),
            "garden": rng.random(n) < 0.5,
            "sold": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(rng.integers(0, 900 * 86400, n), unit="s"),
            "rooms": pd.array(rng.integers(1, 9, n), dtype="Int64"),
            "heated": pd.array(rng.random(n) < 0.5, dtype="boolean"),
            "key": [f"k{i}" for i in range(n)],
            "same": 1,
            "zone": pd.Categorical(rng.choice([1, 2.5, 30], n)),
        }
    )
    price = (
        frame["size"]
        + frame["town"].map({"Bonn": 1, "Ulm": 2, "Kiel": 3, "Köln": 4})
        + 0.2 * frame["garden"]
        + 0.1 * frame["rooms"].astype(float)
        + 0.1 * rng.standard_normal(n)
    )
    frame.loc[3, "size"] = np.nan
    frame.loc[4, "town"] = None
    frame.loc[5, "kind"] = None
    frame.loc[6, "sold"] = pd.NaT
    frame.loc[7, "rooms"] = pd.NA
    frame.loc[8, "heated"] = pd.NA
    return frame, price.to_numpy()


def regressor(**parameters):
    return kerbin.BinningRegressor(tune="off", **parameters)


@pytest.fixture(scope="module")
def model(houses):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return regressor().fit(*houses)


@pytest.fixture
def without_pyarrow(monkeypatch):
    """pandas as it is where pyarrow is not installed."""
    frame = pd.DataFrame

    def missing(self, requested_schema=None):
        raise ImportError("Missing optional dependency 'pyarrow'")

    monkeypatch.setattr(frame, "__arrow_c_stream__", missing)


def bits(estimator):
    return estimator._model.to_bytes()


# ---- the same frame from several hands --------------------------------------


def test_columns_are_taken_as_what_they_are(model, houses):
    frame, price = houses
    told = {column["name"]: column for column in model.columns_}
    assert {name: column["type"] for name, column in told.items()} == {
        "size": "number",
        "town": "category",
        "kind": "category",
        "garden": "boolean",
        "sold": "date",
        "rooms": "number",
        "heated": "category",
        "key": "id",
        "same": "constant",
        "zone": "category",
    }
    assert sorted(told["zone"]["levels"]) == ["1", "2.5", "30"]
    assert sorted(told["town"]["levels"]) == ["Bonn", "Kiel", "Köln", "Ulm"]
    assert told["size"] == {"name": "size", "type": "number", "levels": [], "missing": 1}
    assert [column["name"] for column in model.columns_[-2:]] == ["key", "same"]
    assert list(model.feature_names_in_) == list(frame.columns) and model.n_features_in_ == 10
    assert model.score(frame, price) > 0.9


def test_pandas_without_pyarrow_gives_the_same_model(houses, model, without_pyarrow):
    frame, price = houses
    again = regressor().fit(frame, price)
    assert bits(again) == bits(model)
    assert np.array_equal(again.predict(frame), model.predict(frame))


@pytest.mark.parametrize(
    "make",
    [
        pl.from_pandas,
        pa.Table.from_pandas,
        lambda frame: pa.Table.from_pandas(frame).combine_chunks().to_batches()[0],
        lambda frame: pa.concat_tables(
            pa.Table.from_pandas(frame[a:b]) for a, b in [(0, 17), (17, 200), (200, 300)]
        ),
        lambda frame: pa.Table.from_pandas(
            pd.concat([frame[:9], frame]), preserve_index=False
        ).slice(9),
        lambda frame: pl.concat([pl.from_pandas(frame[:9]), pl.from_pandas(frame)])[9:],
        lambda frame: frame.astype({"town": "category", "size": "Float64"}).astype({"town": "str"}),
        lambda frame: frame.astype({"town": object, "heated": object, "rooms": object}),
        lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
    ],
    ids="polars table batch chunks sliced polars-sliced nullable objects arrow-backed".split(),
)
def test_every_library_gives_the_same_model(make, houses, model):
    frame, price = houses
    same = make(frame)
    if isinstance(same, pl.DataFrame):  # has categories of texts only
        frame = frame.drop(columns="zone")
        same, model = make(frame), regressor().fit(frame, price)
    again = regressor().fit(same, price)
    assert bits(again) == bits(model)
    assert np.array_equal(model.predict(same), model.predict(frame))
    assert list(again.feature_names_in_) == list(frame.columns)


def test_frames_of_numbers_are_arrays(waves):
    X, y = waves
    names = ["wide", "high", "deep"]
    X = X.copy()
    X[:7, 1] = np.nan
    frame = pd.DataFrame(X, columns=names)
    want = regressor().fit(frame, y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert np.array_equal(want.predict(X), want.predict(frame))
    assert bits(regressor().fit(pl.DataFrame(X, schema=names, nan_to_null=True), y)) == bits(want)
    assert bits(regressor().fit(pa.table(dict(zip(names, X.T))), y)) == bits(want)
    assert want.columns_[1] == {"name": "high", "type": "number", "levels": [], "missing": 7}


def test_a_constant_among_numbers_is_left_out(waves):
    X, y = waves
    frame = pd.DataFrame(X, columns=["wide", "high", "deep"]).assign(same=2.5, none=np.nan)
    model = regressor().fit(frame, y)
    assert [c["type"] for c in model.columns_[3:]] == ["constant", "constant"]
    assert np.array_equal(model.predict(frame), regressor().fit(X, y).predict(X))
    assert model.fineness_.shape == (5,) and not model.fineness_[3:].any()
    assert model.fineness_[:3].all()


# ---- other frames to predict ------------------------------------------------


def test_columns_are_found_by_name(houses, model):
    frame, _ = houses
    want = model.predict(frame)
    assert np.array_equal(model.predict(frame[frame.columns[::-1]]), want)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(model.predict(frame.drop(columns=["key", "same"])), want)
    with pytest.warns(
        UserWarning, match=r"2 columns unknown to the model are ignored \(column 'new'"
    ):
        assert np.array_equal(model.predict(frame.assign(new=1, other="x")), want)
    with pytest.raises(ValueError, match="the data lack features of the model: 'size', 'town'"):
        model.predict(frame.drop(columns=["town", "size"]))


def test_a_model_of_numbers_has_the_rule_of_scikit_learn(waves):
    X, y = waves
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = regressor().fit(frame, y)
    for other in frame[["b", "a", "c"]], pl.from_pandas(frame[["b", "a", "c"]]):
        with pytest.raises(ValueError, match="must be in the same order"):
            model.predict(other)


def test_levels_that_are_new_are_told_of(houses, model):
    frame, _ = houses
    with pytest.warns(UserWarning, match="column 'town': 300 cells of a level .* such as 'Rom'"):
        assert np.isfinite(model.predict(frame.assign(town="Rom"))).all()


def test_any_cell_may_be_missing_where_none_was(houses):
    frame, price = houses
    whole = frame.dropna()
    model = regressor().fit(whole, price[whole.index])
    gone = whole.copy()
    for name in gone.columns.drop("same"):
        gone[name] = pd.Series([None] * len(gone), index=gone.index, dtype=gone[name].dtype)
    assert np.isfinite(model.predict(gone)).all()


def test_arrays_are_taken_by_place(houses, model):
    frame, _ = houses
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert np.array_equal(model.predict(frame.to_numpy()), model.predict(frame))
    with pytest.raises(ValueError, match="features"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.predict(frame.to_numpy()[:, :4])
    with pytest.raises(TypeError, match="must be a data frame"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.predict(sparse.csr_matrix(np.ones((2, 10))))


def test_arrays_of_words_are_frames_without_names(houses):
    frame, price = houses
    X = frame[["key", "size", "town"]].to_numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = regressor().fit(X, price)
    assert [c["type"] for c in model.columns_] == ["number", "category", "id"]
    assert not hasattr(model, "feature_names_in_") and model.n_features_in_ == 3
    assert model.fineness_[0] == 0 and model.fineness_[2] > 0
    named = frame[["size", "town"]]
    assert np.array_equal(model.predict(X), regressor().fit(named, price).predict(named))
    rows = [["a", 1], ["b", 2], ["a", 3], ["b", 5], ["c", 4]]
    assert regressor().fit(rows, [1, 2, 3, 4, 5]).predict(rows).shape == (5,)


def test_a_file_knows_the_columns(houses, model, tmp_path):
    frame, _ = houses
    model.save(tmp_path / "m.kerbin")
    back = kerbin.BinningRegressor.load(tmp_path / "m.kerbin")
    assert back.columns_ == model.columns_
    assert np.array_equal(back.predict(frame), model.predict(frame))
    assert np.array_equal(back.fineness_, model.fineness_[model._used])


# ---- cells ------------------------------------------------------------------


def types_of(frame, y=None):
    y = np.arange(len(frame)) % 7.0 if y is None else y
    return {c["name"]: c["type"] for c in regressor().fit(frame, y).columns_}


def test_objects_are_what_they_hold(without_pyarrow):
    n = 40
    frame = pd.DataFrame(
        {
            "days": [datetime.date(2020, 1, 1 + i % 9) for i in range(n)],
            "decimals": [decimal.Decimal(i) / 8 for i in range(n)],
            "booleans": [True, False] * (n // 2),
            "gaps": [True, None, False, np.nan] * (n // 4),
            "mixed": [1, "one", 2.5, "two"] * (n // 4),
            "bins": pd.cut(np.arange(n), 4),
            "texts": ["1.5", " 2 ", "NA", ""] * (n // 4),
            "utc": pd.date_range("2020-01-01", periods=n, freq="6h", tz="Europe/Berlin"),
            "span": pd.to_timedelta(np.arange(n), unit="min"),
            "months": pd.period_range("2020-01", periods=4, freq="M").repeat(n // 4),
        },
        dtype=None,
    )
    frame["gaps"] = frame["gaps"].astype(object)
    assert types_of(frame) == {
        "days": "date",
        "decimals": "number",
        "booleans": "boolean",
        "gaps": "category",
        "mixed": "category",
        "bins": "category",
        "texts": "number",
        "utc": "date",
        "span": "number",
        "months": "category",
    }
    with pytest.raises(TypeError, match="column 'odd' holds dict: turn it into numbers"):
        types_of(pd.DataFrame({"odd": [{"a": 1}, {"b": 2}]}))


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table])
def test_what_no_number_is_made_of_is_refused_by_name(make):
    with pytest.raises(ValueError, match="column 'odd' holds lists .*: turn it into numbers"):
        types_of(make({"x": [1, 2, 3], "odd": [[1], [2], [3]]}))


def test_times_are_those_of_arrow(without_pyarrow):
    """The structures made here hold what pyarrow makes of the same columns."""
    moments = pd.date_range("1960-03-01", periods=20, freq="31h", tz="Asia/Tokyo").as_unit("ms")
    frame = pd.DataFrame({"when": moments, "span": pd.to_timedelta(np.arange(20) - 5, unit="h")})
    y = np.arange(20.0)
    assert bits(regressor().fit(frame, y)) == bits(regressor().fit(pa.Table.from_pandas(frame), y))


def test_what_arrow_lends_is_given_back(houses):
    """A frame is released once, when it goes."""
    frame = pl.from_pandas(houses[0])
    for _ in range(3):
        taken = Frame(frame)
        assert taken.schema.release and all(batch.release for batch in taken.batches)
        del taken
    before = pa.total_allocated_bytes()
    table = pa.table({"x": np.arange(1 << 20)}).slice(5)
    Frame(table)
    del table
    assert pa.total_allocated_bytes() <= before


class _Batch:
    """What gives an array of Arrow's, and nothing else."""

    def __init__(self, batch):
        self.shape, self.__arrow_c_array__ = (
            (batch.num_rows, batch.num_columns),
            batch.__arrow_c_array__,
        )


def test_one_batch_is_enough(houses, model):
    batch = pa.RecordBatch.from_pandas(houses[0])
    assert np.array_equal(model.predict(_Batch(batch)), model.predict(houses[0]))


# ---- labels -----------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda words: pd.Series(words),
        lambda words: pd.Series(words, dtype="string"),
        lambda words: pd.Series(words, dtype="category"),
        lambda words: pl.Series(words),
        lambda words: pl.Series(words, dtype=pl.Categorical),
        lambda words: pa.chunked_array([words]),
        lambda words: pa.array(words),
        lambda words: pa.array(words).dictionary_encode(),
    ],
    ids="str string category polars categorical chunked array dictionary".split(),
)
def test_labels_may_be_a_series_of_words(make, houses):
    frame, price = houses
    words = np.where(price > 3, "dear", "cheap").tolist()
    model = kerbin.BinningClassifier(tune="off").fit(frame, make(words))
    assert model.classes_.tolist() == ["cheap", "dear"]
    assert np.mean(model.predict(frame) == words) > 0.9
    assert model.score(frame, words) > 0.9


def test_labels_may_be_nullable(houses):
    frame, price = houses
    model = kerbin.BinningClassifier(tune="off").fit(frame, pd.array(price > 3, dtype="boolean"))
    assert model.classes_.tolist() == [False, True] and model.predict(frame).dtype == bool
    kept = pd.Series(np.round(price).astype(int), dtype="Int64")
    assert regressor().fit(frame, kept).score(frame, kept) > 0.5


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA], ids=["None", "nan", "NA"])
def test_a_missing_label_is_refused(missing, houses):
    frame, price = houses
    words = np.where(price > 3, "dear", "cheap").astype(object)
    words[5] = missing
    for y in words, pd.Series(words), pd.Series(words, dtype="category"):
        with pytest.raises(ValueError, match="y contains NaN"):
            kerbin.BinningClassifier().fit(frame, y)
    with pytest.raises(ValueError, match="y contains NaN"):
        regressor().fit(frame, pd.Series([1.0, np.nan] * 150))
    with pytest.raises(ValueError, match="y contains NaN"):
        regressor().fit(frame, pd.Series([1, pd.NA] * 150, dtype="Int64"))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        regressor().fit(frame, price[1:])


# ---- maps -------------------------------------------------------------------


def test_maps_take_frames(houses):
    frame, price = houses
    plain = frame[["size", "sold", "garden"]]
    for make in kerbin.RandomBinning, kerbin.FourierFeatures, kerbin.NystromFeatures:
        transformer = make(grids=20)
        assert transformer.fit(plain).transform(plain).shape[0] == 300
        with pytest.raises(ValueError, match="X has categories, .*: use fit"):
            transformer.fit(frame)
        for y in price, np.where(price > 3, "dear", "cheap"):
            got = transformer.fit(frame, y).transform(frame)
            other = transformer.transform(pa.Table.from_pandas(frame[frame.columns[::-1]]))
            assert abs(got - other).max() == 0


# ---- numbers that are missing in arrays -------------------------------------


def test_missing_numbers_take_the_median(waves):
    X, y = waves
    gaps = X.copy()
    gaps[::9, 0] = np.nan
    model = regressor().fit(gaps, y)
    filled = np.where(np.isnan(gaps), np.sort(gaps[~np.isnan(gaps[:, 0]), 0])[355 // 2], gaps)
    assert np.array_equal(model.predict(gaps), model.predict(filled))
    with pytest.raises(ValueError, match="infinity"):
        regressor().fit(np.where(np.isnan(gaps), np.inf, gaps), y)


def test_missing_numbers_of_sparse_rows_are_0(waves):
    X, y = waves
    X = sparse.csr_matrix(np.where(X < 0.8, 0, X))
    gaps = X.copy()
    gaps.data[5] = np.nan
    X.data[5] = 0
    want = regressor(scale="maxabs").fit(X, y)
    with pytest.warns(UserWarning, match="1 missing value in sparse rows is taken as 0"):
        got = regressor(scale="maxabs").fit(gaps, y)
    assert np.array_equal(got.predict(X), want.predict(X))


# ---- options and the program ------------------------------------------------


def test_lists_of_columns_are_written_as_the_options_have_them():
    types, ignore, columns = (
        next(option for option in TABLE if option.name == name)
        for name in ("types", "ignore", "columns")
    )
    assert types.text({"zip": "category", 2: "number"}, None) == "zip=category,2=number"
    assert ignore.text(["key", 3], None) == "key,3" and ignore.text("k*,3", None) == "k*,3"
    assert columns.text(np.array(["a", "b"]), None) == "a,b" and columns.text(2, None) == "2"
    assert [option.text([], None) for option in (types, ignore, columns)] == ["auto", "none", "all"]
    with pytest.raises(ValueError, match=r"ignore: write \? for the comma in the name 'a,b'"):
        ignore.text(["a,b"], None)


def test_options_choose_columns_of_a_frame(houses):
    frame, price = houses
    model = regressor(types={"rooms": "category"}, ignore=["k*", "zone"]).fit(frame, price)
    told = {column["name"]: column["type"] for column in model.columns_}
    assert told["rooms"] == "category"
    assert [told[name] for name in ("key", "kind", "zone")] == ["ignored"] * 3
    less = frame.drop(columns=["key", "kind", "zone"])
    same = regressor(types="rooms=category").fit(less, price)
    assert np.array_equal(model.predict(frame), same.predict(less))
    assert np.array_equal(model.predict(less), same.predict(less))  # not needed to predict
    chosen = regressor(columns="size,town").fit(frame, price)
    assert chosen.n_features_in_ == 10 and chosen.fineness_[[0, 1]].all()
    assert np.count_nonzero(chosen.fineness_) == 2
    pair = frame[["size", "town"]]
    assert np.array_equal(chosen.predict(frame), regressor().fit(pair, price).predict(pair))
    for transformer in kerbin.RandomBinning(columns=["size"]), kerbin.RandomBinning(columns=[1]):
        got = transformer.fit(frame).transform(frame)
        assert abs(got - kerbin.RandomBinning().fit_transform(frame[["size"]])).max() == 0
    with pytest.raises(ValueError, match="ignore: no column is named 'twon'; did you mean 'town'"):
        regressor(ignore=["twon"]).fit(frame, price)
    with pytest.raises(ValueError, match="types"):
        regressor(types={"town": "word"}).fit(frame, price)


def test_options_choose_columns_of_an_array_by_number(waves):
    X, y = waves
    want = regressor().fit(X[:, [0, 2]], y).predict(X[:, [0, 2]])
    for given in {"ignore": [2]}, {"ignore": 2}, {"ignore": "-2"}, {"columns": [1, -1]}:
        model = regressor(**given).fit(X, y)
        assert np.array_equal(model.predict(X), want)
        assert np.array_equal(model.predict(X.tolist()), want)
        assert model.fineness_.shape == (3,) and model.fineness_[1] == 0
    rounded = X.round(1)
    model = regressor(types={1: "category"}).fit(rounded, y)
    assert [c["type"] for c in model.columns_] == ["category", "number", "number"]
    named = pd.DataFrame(rounded, columns=["a", "b", "c"])
    other = regressor(types={"a": "category"}).fit(named, y)
    assert np.array_equal(model.predict(rounded), other.predict(named))
    with pytest.raises(ValueError, match="columns: no column has the number '4'"):
        regressor(columns=[4]).fit(X, y)
    with pytest.raises(TypeError, match="types, ignore and columns are for data frames and arrays"):
        regressor(ignore=[1]).fit(sparse.csr_matrix(X), y)


@pytest.mark.parametrize("cells", ["numbers", "words"])
def test_equal_names_are_made_different(cells, waves):
    X, y = waves
    frame = pd.DataFrame(X, columns=["a", "a", "b"])
    if cells == "words":
        frame["b"] = np.where(X[:, 2] > 0.5, "high", "low")
    with pytest.warns(UserWarning, match="1 column of a name that came before"):
        model = regressor(ignore=["a.1"]).fit(frame, y)
    assert [c["name"] for c in model.columns_] == ["a", "b", "a.1"]
    assert np.flatnonzero(model.fineness_).tolist() == [0, 2]
    with pytest.warns(UserWarning, match="1 column of a name that came before"):
        plain = regressor().fit(frame, y)
    assert [c["name"] for c in plain.columns_] == ["a", "a.1", "b"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert plain.score(frame, y) > model.score(frame, y)


def test_two_levels_are_a_boolean(houses):
    frame, price = houses
    two = pd.Categorical(np.where(price > 3, "dear", "cheap"))
    told = types_of(frame.assign(dear=two, text=two.astype(str)), price)
    assert told["dear"] == told["text"] == "boolean" and told["kind"] == "category"


def test_a_model_of_the_program_predicts_for_a_frame(houses, program, tmp_path):
    """Trained on a CSV, used for a frame of the same table; and the other way round."""
    frame, price = houses
    table = frame.assign(price=price)
    table.to_csv(tmp_path / "houses.csv", index=False)
    program("train", "-q", "--label", "price", "--task", "regression", "--tune", "off",
            "-o", tmp_path / "m.kerbin", tmp_path / "houses.csv")  # fmt: skip
    model = kerbin.BinningRegressor.load(tmp_path / "m.kerbin")
    out = program("predict", "-o", "-", tmp_path / "m.kerbin", tmp_path / "houses.csv")
    want = np.array([float(line) for line in out.split()])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(model.predict(frame), want)
        assert np.array_equal(model.predict(pl.from_pandas(frame)), want)
    own = regressor().fit(frame, price)
    own.save(tmp_path / "own.kerbin")
    out = program("predict", "-o", "-", tmp_path / "own.kerbin", tmp_path / "houses.csv")
    assert np.array_equal(np.array([float(line) for line in out.split()]), own.predict(frame))
