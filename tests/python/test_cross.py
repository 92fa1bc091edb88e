"""Cross-validation by the library, against folds by hand and the metrics of scikit-learn."""

import numpy as np
import pytest
from sklearn import metrics

import kerbin

RNG = np.random.default_rng(0)
X = RNG.random((240, 3))
KIND = np.array(["one", "two", "three"])[(X[:, 0] > 0.4).astype(int) + (X[:, 1] > 0.5)]
VALUE = X[:, 0] * X[:, 1] + 0.1 * RNG.random(240)
PLAIN = dict(tune="off", grids=32, sigma=0.5, random_state=3)


def test_scores_are_those_of_scikit_learn():
    found = kerbin.cross_validate(
        kerbin.BinningClassifier(**PLAIN, loss="logistic"), X, KIND, folds=4
    )
    fold, prediction = found["fold"], found["prediction"]
    assert set(fold) == {0, 1, 2, 3}
    for k in range(4):
        held = fold == k
        model = kerbin.BinningClassifier(**PLAIN, loss="logistic").fit(X[~held], KIND[~held])
        truth, said = KIND[held], prediction[held]
        assert (model.predict(X[held]) == said).all()
        decision, probability = model.decision_function(X[held]), model.predict_proba(X[held])
        areas = [
            metrics.roc_auc_score(truth == c, decision[:, j]) for j, c in enumerate(model.classes_)
        ]
        wanted = {
            "accuracy": metrics.accuracy_score(truth, said),
            "balanced_accuracy": metrics.balanced_accuracy_score(truth, said),
            "f1": metrics.f1_score(truth, said, average="macro"),
            "log_loss": metrics.log_loss(truth, probability, labels=model.classes_),
            "auc": np.mean(areas),
            "brier": ((probability - (truth[:, None] == model.classes_)) ** 2).sum(1).mean() / 2,
        }
        assert set(wanted) == set(found["scores"])
        for key, value in wanted.items():
            assert found["scores"][key][k] == pytest.approx(value, abs=1e-12), key
    assert found["mean"]["f1"] == pytest.approx(found["scores"]["f1"].mean())
    assert found["deviation"]["f1"] == pytest.approx(found["scores"]["f1"].std(ddof=1))


def test_numbers_groups_and_weights():
    groups = np.arange(240) % 12
    weight = 1 + np.arange(240) % 3
    found = kerbin.cross_validate(
        kerbin.BinningRegressor(**PLAIN), X, VALUE, folds=3, sample_weight=weight, groups=groups
    )
    for g in range(12):
        assert len(set(found["fold"][groups == g])) == 1
    for k in range(3):
        held = found["fold"] == k
        about = VALUE[held], found["prediction"][held]
        weighted = {"sample_weight": weight[held]}
        scores = {key: values[k] for key, values in found["scores"].items()}
        assert scores["mae"] == pytest.approx(metrics.mean_absolute_error(*about, **weighted))
        assert scores["rmse"] ** 2 == pytest.approx(metrics.mean_squared_error(*about, **weighted))
        assert scores["r2"] == pytest.approx(metrics.r2_score(*about, **weighted))


def test_time_leaves_the_first_rows():
    model = kerbin.BinningRegressor(**PLAIN, split="time")
    found = kerbin.cross_validate(model, X, VALUE, folds=3)
    assert (np.diff(found["fold"]) >= 0).all()
    assert (found["fold"][:60] == -1).all() and np.isnan(found["prediction"][:60]).all()
    assert not hasattr(model, "fit_info_")


def test_mistakes_are_errors():
    with pytest.raises(ValueError, match="folds must be from 2"):
        kerbin.cross_validate(kerbin.BinningRegressor(**PLAIN), X, VALUE, folds=1)
    with pytest.raises(ValueError, match="metric='auc': is for classification"):
        kerbin.cross_validate(kerbin.BinningRegressor(**PLAIN, metric="auc"), X, VALUE)
