"""More rows, and the same rows again: partial_fit and warm_start."""

import copy

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import kerbin

PLAIN = {"tune": "off", "grids": 32}


def waves(rows, seed):
    X = np.random.default_rng(seed).random((rows, 3))
    return X, np.sin(6 * X[:, 0]) + X[:, 1] * X[:, 2]


@pytest.fixture(scope="module")
def numbers():
    return waves(1500, 0)


@pytest.fixture(scope="module")
def classes(numbers):
    X, y = numbers
    return X, np.digitize(y, [0.2, 0.9])


def batches(X, y, count=5):
    return zip(np.array_split(X, count), np.array_split(y, count))


def test_batches_come_close_to_a_fit_of_all_rows(numbers):
    X, y = numbers
    test = waves(500, 1)
    stream = kerbin.BinningRegressor(**PLAIN)
    scores = [stream.partial_fit(*part).score(*test) for part in batches(X, y)]
    whole = kerbin.BinningRegressor(**PLAIN).fit(X, y).score(*test)
    assert 1 - scores[-1] < 0.6 * (1 - scores[0]) and 1 - scores[-1] < 2 * (1 - whole)
    assert stream.fit_info_["rows"] == 1500 and stream.expected_["rows"] == 300


@pytest.mark.parametrize("loss", ["square", "logistic", "squared-hinge"])
def test_batches_of_classes(classes, loss):
    X, y = classes
    stream = kerbin.BinningClassifier(loss=loss, **PLAIN)
    for part in batches(X, y):
        assert stream.partial_fit(*part, classes=[0, 1, 2]) is stream
    assert stream.score(*classes) > 0.93
    assert stream.predict_proba(X[:5]).shape == (5, 3)


def test_a_tuned_model_goes_on(numbers):
    X, y = numbers
    phases = set()
    stream = kerbin.BinningRegressor(progress=lambda phase, _: phases.add(phase))
    stream.fit(X[:700], y[:700])
    assert "tune" in phases
    tried, before = stream.trials_, stream.score(X[700:], y[700:])
    phases.clear()
    stream.partial_fit(X[700:], y[700:])
    assert "tune" not in phases and len(stream.trials_) == len(tried)
    assert stream.score(X[700:], y[700:]) > before


def test_classes_are_told_at_the_first_call(classes):
    X, y = classes
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        kerbin.BinningClassifier(**PLAIN).partial_fit(X, y)
    with pytest.raises(ValueError, match=r"the label 2 is not among classes=\[0, 1\]"):
        kerbin.BinningClassifier(**PLAIN).partial_fit(X, y, classes=[0, 1])
    model = kerbin.BinningClassifier(**PLAIN).partial_fit(X[:300], y[:300], classes=[0, 1, 2])
    with pytest.raises(ValueError, match="the label 7 is not among the classes of the first fit"):
        model.partial_fit(X[:2], [1, 7])
    with pytest.raises(ValueError, match="are not those of the first fit"):
        model.partial_fit(X, y, classes=[0, 1, 2, 3])
    with pytest.raises(ValueError, match="needs all rows at once"):
        kerbin.BinningClassifier(class_weight="balanced", **PLAIN).partial_fit(
            X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :2], y)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_class_may_come_later(classes, form):
    X, y = classes
    words = np.array(["ape", "bee", "cow"])[y]
    order = np.argsort(y == 2, kind="stable")  # the last class in the last rows alone
    early, late = order[:700], order[700:]
    model = kerbin.BinningClassifier(**PLAIN)
    model.partial_fit(form(X[early]), words[early], classes=["ape", "bee", "cow"])
    assert set(model.predict(form(X))) == {"ape", "bee"}
    model.partial_fit(form(X[late]), words[late])
    assert list(model.classes_) == ["ape", "bee", "cow"]
    assert model.score(form(X), words) > 0.9


def test_weights_are_counts(numbers):
    X, y = numbers
    first = kerbin.BinningRegressor(tol=1e-8, **PLAIN).fit(X[:500], y[:500])
    twice = copy.deepcopy(first).partial_fit(np.vstack([X[500:700]] * 2), np.tile(y[500:700], 2))
    weighed = copy.deepcopy(first).partial_fit(X[500:700], y[500:700], np.full(200, 2.0))
    # The past counts by rows, of which there are 200 or 400: so close, not equal.
    assert np.abs(twice.predict(X) - weighed.predict(X)).max() < 0.1
    with pytest.raises(ValueError):
        first.partial_fit(X[:10], y[:10], np.full(9, 1.0))


def test_a_frame_keeps_its_columns():
    X, y = waves(600, 2)
    frame = pd.DataFrame({"a": X[:, 0], "kind": np.where(X[:, 1] > 0.5, "red", "blue")})
    y = y + (frame["kind"] == "red")
    model = kerbin.BinningRegressor(**PLAIN).partial_fit(frame[:300], y[:300])
    before = model.score(frame[300:], y[300:])
    model.partial_fit(frame[300:][["kind", "a"]], y[300:])
    assert model.score(frame[300:], y[300:]) > before


def test_a_loaded_model_goes_on(classes, tmp_path):
    X, y = classes
    model = kerbin.BinningClassifier(**PLAIN).fit(X[:700], y[:700])
    model.save(tmp_path / "m.kerbin")
    loaded = kerbin.BinningClassifier.load(tmp_path / "m.kerbin")
    loaded.partial_fit(X[700:], y[700:])
    model.partial_fit(X[700:], y[700:])
    assert (loaded.decision_function(X) == model.decision_function(X)).all()


def test_what_cannot_go_on_says_so(numbers):
    X, y = numbers
    for options, says in (({"penalty": "l1"}, "penalty='l1'"), ({"map": "fourier"}, "map='fourier'")):
        model = kerbin.BinningRegressor(**PLAIN, **options).fit(X, y)
        with pytest.raises(AttributeError, match="partial_fit") as error:
            model.partial_fit(X, y)
        assert f"{says} learns from all rows at once" in str(error.value.__cause__)
        model.set_params(warm_start=True).fit(X, y)  # an ordinary fit


# ---- warm_start ----------------------------------------------------------------


@pytest.mark.parametrize("loss", ["square", "logistic", "squared-hinge"])
def test_a_warm_start_takes_fewer_steps_to_the_same_place(classes, loss):
    X, y = classes
    options = dict(PLAIN, loss=loss, lambda_=1, tol=1e-5, scale="none", sigma=0.5)
    warm = kerbin.BinningClassifier(warm_start=True, **options).fit(X[:1450], y[:1450])
    steps = warm.n_iter_
    again = warm.fit(X[:1450], y[:1450]).n_iter_
    cold = kerbin.BinningClassifier(**options).fit(X, y)
    warm.fit(X, y)
    assert again <= steps // 10
    assert warm.fit_info_["objective"] == pytest.approx(cold.fit_info_["objective"], rel=1e-4)
    assert np.abs(warm.decision_function(X) - cold.decision_function(X)).max() < 1e-2


def test_a_warm_start_honours_what_was_changed(numbers):
    X, y = numbers
    model = kerbin.BinningRegressor(warm_start=True, **PLAIN).fit(X, y)
    bins = model.fit_info_["bins"]
    assert model.set_params(lambda_=5).fit(X, y).fit_info_["lambda"] == 5
    assert model.fit_info_["bins"] == bins
    assert model.set_params(grids=16).fit(X, y).fit_info_["grids"] == 16
    assert model.fit(X[:, :2], y).n_features_in_ == 2
    three = kerbin.BinningClassifier(warm_start=True, **PLAIN).fit(X, (y > 0.5).astype(int))
    assert len(three.fit(X, np.digitize(y, [0.2, 0.9])).classes_) == 3


def test_groups_stay_together_in_a_fit(numbers):
    X, y = numbers
    groups = np.arange(len(y)) // 10
    model = kerbin.BinningRegressor(**PLAIN, split="group:g").fit(X, y, groups=groups)
    assert model.expected_["rows"] > 0
    model.set_params(warm_start=True).fit(X, y, groups=groups)
    assert model.expected_["rows"] > 0
    with pytest.raises(ValueError, match="needs groups="):
        model.fit(X, y)
