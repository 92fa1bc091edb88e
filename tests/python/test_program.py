"""The package and the program are one library: the same bits for the same options."""

import pickle

import numpy as np
import pandas as pd
import pytest
from conftest import write_libsvm

import kerbin


def column(text):
    return np.array([float(line) for line in text.split()])


def flags(parameters):
    for key, value in parameters.items():
        name = {"lambda_": "lambda", "random_state": "seed"}.get(key, key.replace("_", "-"))
        if value is True:
            yield f"--{name}"
        else:
            yield from (f"--{name}", str(value))


TWO = [
    {},
    {"tune": "off"},
    {"penalty": "l1"},
    {"map": "nystrom", "grids": 50},
    {"sigma": 0.7, "lambda_": 2.5, "grids": 40, "random_state": 9},
    {"tune": "off", "loss": "logistic"},
    {"tune": "off", "loss": "squared-hinge", "class_weight": "balanced"},
    {"tune": "off", "penalty": "l1", "loss": "logistic", "lambda_": 0.5},
    {"tune": "off", "penalty": "l1", "solver": "cd"},
    {"tune": "off", "penalty": "l1", "group_grids": True},
    {"tune": "off", "penalty": "l1", "lambda_path": 5, "lambda_": 0.1},
    {"tune": "off", "solver": "sweeps", "grids": 60},
    {"solver": "sweeps"},
    {"tune": "off", "solver": "gmres", "scale": "standard", "kernel": "power:2"},
    {"tune": "off", "probability": "on"},
    {"tune": "off", "map": "fourier", "kernel": "gauss", "grids": 100},
    {"tune": "off", "map": "nystrom", "landmarks": "kmeans++", "grids": 50},
    {"tune": "off", "map": "blocks", "grids": 50, "solver": "cholesky"},
    {"tune": "off", "map": "exact", "solver": "cg", "tol": 1e-6},
]


def test_groups_are_those_of_the_program(classes, program, tmp_path):
    X, two, _ = classes
    groups = np.arange(400) % 7 * 3
    train = tmp_path / "train"
    write_libsvm(train, X, two)
    lines = [line.split(" ", 1) for line in train.read_text().splitlines()]
    train.write_text("".join(f"{y} qid:{g} {x}\n" for (y, x), g in zip(lines, groups)))
    program("train", "-q", "--split", "group:qid", "-o", tmp_path / "cli.kerbin", train)
    want = (tmp_path / "cli.kerbin").read_bytes()
    for same in groups, groups.tolist(), np.array([f"patient {g:02d}" for g in groups]):
        model = kerbin.BinningClassifier().fit(X, two, groups=same)
        assert model._model.to_bytes() == want
    assert kerbin.BinningClassifier(split="group:qid").fit(X, two, groups=groups) is not None


# Parameters that are in a model file.
KEPT = "sigma lambda_ grids random_state loss penalty kernel map scale".split()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("parameters", TWO, ids=str)
def test_the_program_writes_the_same_model(parameters, classes, program, tmp_path):
    X, two, _ = classes
    train, new = tmp_path / "train", tmp_path / "new"
    write_libsvm(train, X[:300], two[:300])
    write_libsvm(new, X[300:], two[300:])
    program("train", "-q", *flags(parameters), "-o", tmp_path / "cli.kerbin", train)
    model = kerbin.BinningClassifier(**parameters).fit(X[:300], two[:300])
    model.save(tmp_path / "py.kerbin")
    assert (tmp_path / "py.kerbin").read_bytes() == (tmp_path / "cli.kerbin").read_bytes()

    for output, method in ("decision", "decision_function"), ("label", "predict"):
        told = program("predict", "-q", "--output", output, tmp_path / "py.kerbin", new)
        assert np.array_equal(column(told), getattr(model, method)(X[300:]))
    loaded = kerbin.BinningClassifier.load(tmp_path / "cli.kerbin")
    assert np.array_equal(loaded.classes_, model.classes_)
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
    assert {k: v for k, v in loaded.get_params().items() if k in parameters and k in KEPT} == {
        k: v for k, v in parameters.items() if k in KEPT
    }
    assert loaded.fit(X[:300], two[:300]) is loaded  # what the file told can be fitted again
    if hasattr(model, "predict_proba"):
        told = program("predict", "-q", "--output", "probability", tmp_path / "py.kerbin", new)
        rows = np.array([line.split(",") for line in told.split()[1:]], dtype=float)
        assert np.array_equal(rows, model.predict_proba(X[300:]))
        again = kerbin.BinningClassifier.load(tmp_path / "cli.kerbin")
        assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    "parameters", [{}, {"tune": "off", "penalty": "l1"}, {"tune": "off", "intercept": "off"}], ids=str)
def test_regression_is_the_same_too(parameters, waves, program, tmp_path):
    X, y = waves
    write_libsvm(tmp_path / "train", X, y)
    weight = np.arange(len(y)) % 4
    np.savetxt(tmp_path / "weights", weight)
    options = [*flags(parameters), "--weights", tmp_path / "weights"]
    program("train", "-q", *options, "-o", tmp_path / "cli.kerbin", tmp_path / "train")
    model = kerbin.BinningRegressor(**parameters).fit(X, y, sample_weight=weight)
    model.save(tmp_path / "py.kerbin")
    assert (tmp_path / "py.kerbin").read_bytes() == (tmp_path / "cli.kerbin").read_bytes()


def test_words_names_and_weights_of_classes_are_the_same(waves, program, tmp_path):
    X, y = waves
    frame = pd.DataFrame(X, columns=["wide", "high", "deep one"])
    labels = np.array(["a cow", "bee", "zebra"])[np.digitize(y, [0, 1])]
    table = frame.assign(label=labels)
    table.to_csv(tmp_path / "train.csv", index=False)
    (tmp_path / "weights").write_text("a cow 2.5\nzebra 0.5\n")
    options = ["--tune", "off", "--task", "classification", "--class-weight", tmp_path / "weights"]
    program("train", "-q", *options, "-o", tmp_path / "cli.kerbin", tmp_path / "train.csv")
    model = kerbin.BinningClassifier(tune="off", class_weight={"a cow": 2.5, "zebra": 0.5})
    model.fit(frame, labels)
    model.save(tmp_path / "py.kerbin")
    # The program records which column was the label; all else is the same.
    cli = kerbin.BinningClassifier.load(tmp_path / "cli.kerbin")
    assert list(cli.classes_) == ["a cow", "bee", "zebra"] == list(model.classes_)
    assert list(cli.feature_names_in_) == list(frame.columns)
    assert np.array_equal(cli.predict(frame), model.predict(frame))
    assert np.array_equal(cli.decision_function(frame), model.decision_function(frame))
    # Columns are matched by name.
    table[["deep one", "label", "wide", "high"]].to_csv(tmp_path / "new.csv", index=False)
    files = tmp_path / "py.kerbin", tmp_path / "new.csv"
    told = program("predict", "-q", "--label", "label", *files)
    assert told.splitlines() == list(model.predict(frame))


def test_the_default_seed_and_sparse_data_are_the_same(program, tmp_path):
    rng = np.random.default_rng(1)
    X = np.where(rng.random((200, 30)) < 0.9, 0, rng.random((200, 30)))
    X[0, -1] = 1  # the last feature shows in the file
    y = X.sum(axis=1)
    write_libsvm(tmp_path / "train", X, y)
    options = ["--task", "regression", "--scale", "standard"]
    program("train", "-q", *options, "-o", tmp_path / "cli.kerbin", tmp_path / "train")
    kerbin.BinningRegressor(scale="standard").fit(X, y).save(tmp_path / "py.kerbin")
    assert (tmp_path / "py.kerbin").read_bytes() == (tmp_path / "cli.kerbin").read_bytes()


def test_features_are_the_same(waves, program, tmp_path):
    X, y = waves
    write_libsvm(tmp_path / "train", X, y)
    makes = {
        "binning": kerbin.RandomBinning(grids=20, sigma=0.5),
        "fourier": kerbin.FourierFeatures(grids=20, sigma=0.5, kernel="gauss"),
        "nystrom": kerbin.NystromFeatures(grids=20, sigma=0.5, kernel="gauss"),
    }
    for name, transformer in makes.items():
        kernel = "laplace" if name == "binning" else "gauss"
        options = ["--map", name, "--grids", 20, "--sigma", 0.5, "--kernel", kernel]
        told = program("features", "-q", *options, tmp_path / "train")
        Z = transformer.fit_transform(X)
        Z = Z.toarray() if name == "binning" else Z
        read = np.zeros_like(Z)
        for i, line in enumerate(told.splitlines()):
            for entry in line.split()[1:]:
                j, value = entry.split(":")
                read[i, int(j) - 1] = float(value)
        assert np.array_equal(read, Z)
        # Its file is a model's, whose map the program can use.
        transformer.save(tmp_path / "map.kerbin")
        again = program("features", "-q", "--from", tmp_path / "map.kerbin", tmp_path / "train")
        assert again == told
        back = type(transformer).load(tmp_path / "map.kerbin").transform(X)
        assert (back != transformer.transform(X)).sum() == 0


def test_a_file_of_the_other_task_is_refused(waves, tmp_path):
    X, y = waves
    kerbin.BinningRegressor(tune="off").fit(X, y).save(tmp_path / "m.kerbin")
    with pytest.raises(ValueError, match="is a model of regression"):
        kerbin.BinningClassifier.load(tmp_path / "m.kerbin")
    with pytest.raises(ValueError, match="has the map binning, not fourier"):
        kerbin.FourierFeatures.load(tmp_path / "m.kerbin")
    assert kerbin.RandomBinning.load(tmp_path / "m.kerbin").transform(X).shape[0] == len(X)
    with pytest.raises(OSError, match="cannot open"):
        kerbin.BinningRegressor.load(tmp_path / "missing")
    (tmp_path / "m.kerbin").write_bytes(b"no model at all")
    with pytest.raises(ValueError, match="not a kerbin model"):
        kerbin.BinningRegressor.load(tmp_path / "m.kerbin")


def test_compact_files_are_those_of_the_program(classes, waves, program, tmp_path):
    X, _, three = classes
    for model in (
        kerbin.BinningClassifier(tune="off").fit(X, three),
        kerbin.BinningRegressor(tune="off").fit(*waves),
        kerbin.RandomBinning(grids=16).fit(X),
    ):
        model.save(tmp_path / "whole.kerbin")
        model.save(tmp_path / "small.kerbin", compact=True)
        assert model.compaction_ is None  # it stays whole
        program("compact", "-q", "-o", tmp_path / "cli.kerbin", tmp_path / "whole.kerbin")
        assert (tmp_path / "small.kerbin").read_bytes() == (tmp_path / "cli.kerbin").read_bytes()
        small = type(model).load(tmp_path / "small.kerbin")
        moved = small.compaction_
        assert 0 <= moved["typical"] <= moved["most"]
        small.save(tmp_path / "again.kerbin", compact=True)  # as it is already
        assert (tmp_path / "again.kerbin").read_bytes() == (tmp_path / "cli.kerbin").read_bytes()
        assert moved["dropped"] == 0
        names = tmp_path / "cli.kerbin", tmp_path / "whole.kerbin"
        program("compact", "-q", "--drop", "0.2", "-o", *names)
        model.save(tmp_path / "less.kerbin", compact=True, drop=0.2)
        assert (tmp_path / "less.kerbin").read_bytes() == (tmp_path / "cli.kerbin").read_bytes()
        with pytest.raises(ValueError, match="give compact=True"):
            model.save(tmp_path / "no.kerbin", drop=0.2)
        back = pickle.loads(pickle.dumps(small))
        if isinstance(model, kerbin.BinningClassifier):
            f, g = model.decision_function(X), small.decision_function(X)
            assert 0 < np.abs(f - g).max() <= moved["most"]
            assert np.array_equal(back.predict_proba(X), small.predict_proba(X))
            for i in range(3):  # single rows have a path of their own
                assert np.array_equal(small.decision_function(X[i : i + 1])[0], g[i])
    exact = kerbin.FourierFeatures(grids=8).fit(X)
    with pytest.raises(ValueError, match="a compact model needs map='binning'"):
        exact.save(tmp_path / "no.kerbin", compact=True)
    assert not (tmp_path / "no.kerbin").exists()
