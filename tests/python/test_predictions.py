"""What a model says beside labels: the error to expect, probabilities, intervals, sets, novelty."""

import pickle

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

from kerbin import BinningClassifier, BinningRegressor


@pytest.fixture(scope="module")
def numbers():
    """Noise that grows with the first feature."""
    random = np.random.RandomState(0)
    X = random.rand(4000, 2)
    return X, np.sin(6 * X[:, 0]) + X[:, 1] + 0.3 * X[:, 0] * random.randn(4000)


@pytest.fixture(scope="module")
def classes():
    """Labels that follow the first feature, a tenth of them flipped."""
    random = np.random.RandomState(1)
    X = random.rand(3000, 2)
    return X, (X[:, 0] > 0.5) ^ (random.rand(3000) < 0.1)


def test_the_expected_error_is_that_of_new_rows(numbers, classes):
    X, y = numbers
    model = BinningRegressor(tune="off", lambda_=1).fit(X[:2000], y[:2000])
    error = np.sqrt(np.mean((model.predict(X[2000:]) - y[2000:]) ** 2))
    told = model.expected_
    assert told["rows"] == 400 and told["rmse_low"] < told["rmse"] < told["rmse_high"]
    assert 0.9 < error / told["rmse"] < 1.1
    X, y = classes
    model = BinningClassifier(tune="off", lambda_=1).fit(X[:1500], y[:1500])
    told = model.expected_
    assert told["error_low"] < np.mean(model.predict(X[1500:]) != y[1500:]) < told["error_high"] + 0.02
    assert told["log_loss"] < np.log(2) and "rmse" not in told
    again = pickle.loads(pickle.dumps(model))
    assert again.expected_ == told
    assert BinningClassifier(tune="off", holdout="off").fit(X, y).expected_ is None


def test_rows_held_out_can_be_looked_at(classes):
    X, y = classes
    model = BinningClassifier(tune="off", holdout=0.25).fit(X, y)
    rows = model._model.validation()
    assert len(rows["row"]) == 750 and rows["weight"] is None
    wrong = (rows["decision"][:, 0] > 0) != y[rows["row"]]
    assert wrong.mean() == pytest.approx(model.expected_["error"])


@pytest.mark.parametrize("loss", ["square", "logistic", "squared-hinge"])
def test_probabilities_are_calibrated_whatever_the_loss(loss, classes):
    X, y = classes
    model = BinningClassifier(tune="off", loss=loss).fit(X[:1500], y[:1500])
    p = model.predict_proba(X[1500:])[:, 1]
    assert np.all((p > 0) & (p < 1))
    sure = p > 0.8
    assert abs(p[sure].mean() - y[1500:][sure].mean()) < 0.06
    scores = cross_val_score(
        BinningClassifier(tune="off", loss=loss), X, y, cv=3, scoring="neg_log_loss"
    )
    assert np.all(np.isfinite(scores)) and np.all(scores > -np.log(2))


def test_intervals_cover_and_follow_the_noise(numbers):
    X, y = numbers
    model = BinningRegressor(tune="off", lambda_=1).fit(X[:2000], y[:2000])
    for coverage in 0.8, 0.95:
        low, high = model.predict_interval(X[2000:], coverage=coverage).T
        assert abs(np.mean((low <= y[2000:]) & (y[2000:] <= high)) - coverage) < 0.04
    with pytest.raises(ValueError, match="coverage"):
        model.predict_interval(X, coverage=1.5)


def test_sets_hold_the_class(classes):
    X, y = classes
    model = BinningClassifier(tune="off", lambda_=1).fit(X[:1500], y[:1500])
    inside = model.predict_set(X[1500:], coverage=0.95)
    assert inside.dtype == bool and inside.shape == (1500, 2) and np.all(inside.any(1))
    assert np.mean(inside[np.arange(1500), y[1500:].astype(int)]) > 0.93


def test_rows_far_away_are_novel(numbers):
    X, y = numbers
    model = BinningRegressor(tune="off").fit(X, y)
    known, novelty = model.novelty(X + 50).T
    assert np.all(known == 0) and np.all(novelty > 0.99)
    assert np.all(model.novelty(X)[:, 0] == 1)


def test_the_trial_that_won_is_marked(classes):
    X, y = classes
    model = BinningClassifier(widths="equal", grids=64).fit(X[:500], y[:500])
    (won,) = [trial for trial in model._model.trials() if trial["chosen"]]
    assert won["lambda"] == model.fit_info_["lambda"]
