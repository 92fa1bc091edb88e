"""Losses of numbers: quantiles, medians and counts."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import mean_pinball_loss, mean_poisson_deviance

from kerbin import BinningRegressor


@pytest.fixture(scope="module")
def skewed():
    random = np.random.RandomState(0)
    X = random.rand(1500, 2)
    return X, 3 * X[:, 0] + random.exponential(size=1500)


@pytest.mark.parametrize("quantile", [0.1, 0.9])
def test_a_quantile_has_its_share_below(skewed, quantile):
    X, y = skewed
    model = BinningRegressor(loss="quantile", quantile=quantile, tune="off", sigma=1, lambda_=3)
    model = clone(model).fit(X[:1000], y[:1000])
    predicted = model.predict(X[1000:])
    assert np.mean(y[1000:] <= predicted) == pytest.approx(quantile, abs=0.05)
    best = np.full(500, np.quantile(y[:1000], quantile))
    loss = mean_pinball_loss(y[1000:], predicted, alpha=quantile)
    assert loss < mean_pinball_loss(y[1000:], best, alpha=quantile)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(X), model.predict(X))


def test_the_median_is_not_moved_by_outliers(skewed):
    X, y = skewed
    far = np.where(np.arange(len(y)) % 50 == 0, 1e6, y)
    model = BinningRegressor(loss="absolute", tune="off", sigma=1, lambda_=3)
    moved = model.fit(X, far).predict(X)
    assert np.abs(moved - model.fit(X, y).predict(X)).max() < 0.5


def test_counts_have_means_above_zero():
    random = np.random.RandomState(0)
    X = random.rand(1500, 2)
    y = random.poisson(np.exp(2 * X[:, 0]))
    model = BinningRegressor(loss="poisson", tune="off", sigma=1, lambda_=1).fit(X[:1000], y[:1000])
    mean = model.predict(X[1000:])
    assert mean.min() > 0
    deviance = mean_poisson_deviance(y[1000:], mean)
    assert deviance < mean_poisson_deviance(y[1000:], np.full(500, y[:1000].mean()))
    one = [model.predict(X[k : k + 1])[0] for k in range(5)]
    assert np.allclose(one, model.predict(X[:5]), rtol=1e-12)
    with pytest.raises(ValueError, match="needs labels of 0 or more, and row 1 has -1"):
        BinningRegressor(loss="poisson").fit(X, np.where(np.arange(1500) == 0, -1, y))
