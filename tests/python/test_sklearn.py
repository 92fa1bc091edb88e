"""scikit-learn's own checks, and its tools."""

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import multioutput
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import kerbin

PUBLIC = [getattr(kerbin, name) for name in kerbin.__all__]
ESTIMATORS = [one for one in PUBLIC if isinstance(one, type)]
CHECKED = [make() for make in ESTIMATORS] + [
    kerbin.BinningClassifier(holdout="off"),
    kerbin.BinningClassifier(tune="off", loss="logistic"),
    kerbin.BinningClassifier(tune="off", loss="logistic", holdout="off"),
    kerbin.BinningClassifier(tune="off", loss="logistic", multiclass="softmax"),
    kerbin.BinningClassifier(tune="off", loss="logistic", multiclass="softmax", holdout="off"),
    kerbin.BinningClassifier(tune="off", map="nystrom", grids=50),
    kerbin.BinningClassifier(tune="off", map="nystrom", grids=50, holdout="off"),
    kerbin.BinningRegressor(tune="off", map="exact"),
]


def not_passed(estimator):
    """Rows that are repeated are held out another way than rows with weights, and so the
    probabilities are others, as with scikit-learn's CalibratedClassifierCV.  With holdout='off'
    every check is passed."""
    if not isinstance(estimator, kerbin.BinningClassifier) or estimator.holdout == "off":
        return {}
    check = "check_sample_weight_equivalence_on_{}_data"
    return {check.format(kind): "other rows are held out" for kind in ("dense", "sparse")}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(CHECKED, expected_failed_checks=not_passed, xfail_strict=True)
def test_estimator_passes_the_check(estimator, check):
    check(estimator)


@pytest.mark.parametrize("parameters", [{}, {"loss": "logistic"}, {"map": "exact"}])
def test_weights_are_repeated_rows_in_decisions(parameters, classes):
    X, two, three = classes
    weight = np.arange(len(X)) % 3
    order = np.repeat(np.arange(len(X)), weight)
    fixed = dict(tune="off", scale="none", sigma=0.5, lambda_=1, tol=1e-9)
    for y in two, three:
        weighted, repeated = (kerbin.BinningClassifier(**fixed, **parameters) for _ in range(2))
        weighted.fit(X, y, sample_weight=weight)
        repeated.fit(X[order], y[order])
        assert np.allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("keep", [pickle, joblib])
@pytest.mark.parametrize("make", ESTIMATORS)
def test_a_pickle_holds_the_model(make, keep, waves, tmp_path):
    X, y = waves
    estimator = make().fit(X, y > 0.5 if make is kerbin.BinningClassifier else y)
    path = tmp_path / "kept"
    with open(path, "wb") as file:
        keep.dump(estimator, file)
    with open(path, "rb") as file:
        back = keep.load(file)
    estimator.save(tmp_path / "model.kerbin")
    assert back._model.to_bytes() == (tmp_path / "model.kerbin").read_bytes()
    assert (tmp_path / "model.kerbin").read_bytes() in path.read_bytes()
    method = "predict" if hasattr(estimator, "predict") else "transform"
    a, b = (getattr(one, method)(X) for one in (estimator, back))
    assert (a != b).sum() == 0


def test_a_clone_has_the_parameters_and_nothing_learnt(classes):
    X, two, _ = classes
    original = kerbin.BinningClassifier(lambda_=3.5, sigma=[0.5, 1, 2], random_state=4).fit(X, two)
    copy = clone(original)
    assert copy.get_params() == original.get_params()
    assert not hasattr(copy, "classes_")
    assert np.array_equal(copy.fit(X, two).predict(X), original.predict(X))


def test_pipelines_and_searches_work(classes):
    X, two, three = classes
    search = GridSearchCV(
        make_pipeline(StandardScaler(), kerbin.BinningClassifier(grids=64)),
        {"binningclassifier__lambda_": [0.1, 10], "binningclassifier__sigma": [0.3, 3]},
        cv=3,
        n_jobs=2,
    ).fit(X, three)
    assert search.best_score_ > 0.75
    linear = make_pipeline(kerbin.RandomBinning(sigma=0.5), RidgeClassifier(alpha=0.1))
    # The same machine: ridge on the same features.
    whole = kerbin.BinningClassifier(sigma=0.5, lambda_=0.1, intercept="on", tol=1e-9)
    assert np.mean(linear.fit(X, two).predict(X) == whole.fit(X, two).predict(X)) > 0.99
    assert cross_val_score(linear, X, two, cv=3).mean() > 0.85


@pytest.mark.parametrize("kind", ["Regressor", "Classifier"])
def test_several_targets_are_a_model_each(kind, waves):
    X, y = waves
    Y = np.column_stack([y, X[:, 0]])
    Y = Y if kind == "Regressor" else (Y > 0.5).astype(int)
    one = getattr(kerbin, f"Binning{kind}")(tune="off", grids=32)
    for wrong in Y, pd.DataFrame(Y):
        with pytest.raises(ValueError, match=f"y has 2 columns.*MultiOutput{kind}"):
            one.fit(X, wrong)
    both = getattr(multioutput, f"MultiOutput{kind}")(one).fit(X, Y)
    for k in range(2):
        assert np.array_equal(both.predict(X)[:, k], clone(one).fit(X, Y[:, k]).predict(X))


def test_frames_give_names(waves, tmp_path):
    X, y = waves
    frame = pd.DataFrame(X, columns=["wide", "high", "größe"])
    model = kerbin.BinningRegressor(tune="off").fit(frame, y)
    assert list(model.feature_names_in_) == ["wide", "high", "größe"]
    assert np.array_equal(model.predict(frame), kerbin.BinningRegressor(tune="off").fit(X, y).predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["high", "wide", "größe"]])
    model.save(tmp_path / "named.kerbin")
    assert list(kerbin.BinningRegressor.load(tmp_path / "named.kerbin").feature_names_in_) == list(
        frame.columns
    )


@pytest.mark.parametrize("kind", [str, object, bool, np.int8, float])
def test_labels_keep_their_type(kind, classes):
    X, two, _ = classes
    y = np.where(two > 0, "yes", "no").astype(kind) if kind in (str, object) else (two > 0)
    y = y.astype(kind)
    model = kerbin.BinningClassifier(tune="off").fit(X, y)
    assert model.classes_.dtype == y.dtype
    assert np.mean(model.predict(X) == y) > 0.95


def test_probabilities_are_there_unless_refused(classes):
    X, two, three = classes
    assert hasattr(kerbin.BinningClassifier(), "predict_proba")
    assert not hasattr(kerbin.BinningClassifier(holdout="off"), "predict_proba")
    assert hasattr(kerbin.BinningClassifier(holdout="off", loss="logistic"), "predict_proba")
    assert hasattr(kerbin.BinningClassifier(holdout="off", probability=True), "predict_proba")
    without = kerbin.BinningClassifier(loss="logistic", probability="off")
    assert not hasattr(without, "predict_proba")
    for y in two, three:
        for model in (
            kerbin.BinningClassifier(tune="off"),
            kerbin.BinningClassifier(tune="off", loss="logistic"),
            kerbin.BinningClassifier(tune="off", loss="logistic", holdout="off"),
            kerbin.BinningClassifier(tune="off", probability=True),
        ):
            p = model.fit(X, y).predict_proba(X)
            assert np.allclose(p.sum(axis=1), 1)
            assert np.array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
            assert np.array_equal(np.log(p), model.predict_log_proba(X))


def test_a_fitted_model_tells_whether_there_are_probabilities(classes):
    X, two, _ = classes
    for seed in range(3):  # whichever loss is selected
        model = kerbin.BinningClassifier(random_state=seed).fit(X[:200], two[:200])
        assert hasattr(model, "predict_proba")
    for loss in "square", "logistic":
        model = kerbin.BinningClassifier(tune="off", holdout="off", loss=loss).fit(X, two)
        assert hasattr(model, "predict_proba") == (loss == "logistic")
    assert model.set_params(loss="auto").predict_proba(X).shape == (400, 2)


@pytest.mark.parametrize(
    "parameters, fitted, sentence",
    [
        ({"holdout": "off"}, False, "holdout='off' and loss='auto'; use probability='on'"),
        ({"holdout": "off", "loss": "square"}, False, "holdout='off' and loss='square'; use"),
        ({"loss": "logistic", "probability": False}, False, "probability=False; use"),
        ({"loss": "logistic", "probability": "off"}, True, "probability='off'; use"),
        ({"holdout": "off"}, True, "the model was fitted with the square loss; use"),
    ],
)
def test_what_gives_no_probabilities_says_why(parameters, fitted, sentence, classes):
    X, two, _ = classes
    model = kerbin.BinningClassifier(**parameters)
    if fitted:
        model.set_params(tune="off").fit(X, two)
    for method in "predict_proba", "predict_log_proba":
        with pytest.raises(AttributeError, match=method) as error:
            getattr(model, method)
        assert sentence in str(error.value.__cause__)


def test_a_warm_start_takes_what_was_found(waves):
    X, y = waves
    narrow = X * [1, 1, 0.01]
    cold = kerbin.BinningRegressor(tune="off", scale="none")
    warm = kerbin.BinningRegressor(tune="off", scale="none", warm_start=True)
    found = warm.fit(X, y).fit_info_["sigma"]
    assert found == cold.fit(X, y).fit_info_["sigma"]
    assert warm.fit_info_["sigma_rule"] == "default" and found > 0
    assert warm.fit(narrow, y).fit_info_["sigma"] == found
    assert warm.set_params(grids=64).fit(narrow, y).fit_info_["sigma"] == found
    assert warm.fit_info_["sigma_rule"] == "equal"
    assert cold.fit(narrow, y).fit_info_["sigma"] != found
    assert warm.set_params(sigma=0.25).fit(X, y).fit_info_["sigma"] == 0.25
    assert clone(warm).set_params(sigma="default").fit(X, y).fit_info_["sigma"] == found


def test_a_warm_start_needs_no_more_trials(waves):
    X, y = waves
    phases = set()
    model = kerbin.BinningRegressor(
        widths="equal", warm_start=True, progress=lambda phase, _: phases.add(phase))
    first = model.fit(X, y).fit_info_
    assert "tune" in phases and first["sigma_rule"] == "equal"
    phases.clear()
    second = model.fit(X, y).fit_info_
    assert "tune" not in phases
    assert all(first[key] == second[key] for key in ("sigma", "lambda", "grids", "scale", "loss"))


def test_learned_widths_can_be_learned_again(tmp_path):
    X = np.random.default_rng(2).random((700, 3))
    model = kerbin.BinningRegressor(widths="learned", budget="60s").fit(X, np.sin(20 * X[:, 0]))
    assert model.fit_info_["sigma_rule"] == "learned" and model.fit_info_["sigma"] == 0
    model.save(tmp_path / "m.kerbin")
    assert kerbin.BinningRegressor.load(tmp_path / "m.kerbin").sigma == "auto"


def test_importances_are_the_librarys(waves):
    X, y = waves
    model = kerbin.BinningRegressor(sigma=[0.5, 1, 1e6], lambda_=0.1)
    assert not hasattr(model, "feature_importances_")  # not fitted
    got = model.fit(X, y).fineness_
    assert got.shape == (3,) and np.isclose(got.sum(), 1)
    assert got[0] > got[1] > 0.2 and got[2] < 1e-5
    drop, error = model.feature_importances_, model.feature_importances_error_
    assert drop.shape == error.shape == (3,)
    assert drop[0] > 0.1 and abs(drop[2]) < 1e-3 and (error >= 0).all()
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.feature_importances_, drop)
    model.set_params(importance="off").fit(X, y)
    assert not hasattr(model, "feature_importances_")  # not measured
    with pytest.raises(AttributeError, match="importance='on'"):
        model.feature_importances_
    assert np.array_equal(model.fineness_, got)


def test_contributions_add_up(waves):
    X, y = waves
    model = kerbin.BinningRegressor(sigma=0.5, lambda_=0.1).fit(X, y)
    got, base, error = model.explain(X[:7], background=X, samples=16)
    assert got.shape == error.shape == (7, 3) and (error >= 0).all()
    assert np.allclose(got.sum(axis=1), model.predict(X[:7]) - base)
    assert np.abs(got[:, 0]).mean() > np.abs(got[:, 2]).mean()
    again = model.explain(X[:7], background=X, samples=16)[0]
    assert np.array_equal(got, again)
    labels = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    classifier = kerbin.BinningClassifier(sigma=0.5, lambda_=0.1).fit(X, labels)
    got, base, _ = classifier.explain(X[:5])
    assert got.shape == (5, 3, 3) and base.shape == (3,)
    assert np.allclose(got.sum(axis=1), classifier.decision_function(X[:5]) - base)
    with pytest.raises(ValueError, match="two or more"):
        model.explain(X[:1])


@pytest.mark.parametrize(
    "parameters, groups, sentence",
    [
        ({}, np.zeros(400), "all rows are of one group"),
        ({}, np.zeros(5), "inconsistent numbers of samples"),
        ({"split": "random"}, np.arange(400), "groups are not used with split='random'"),
        ({"split": "group:patient"}, None, "fit needs groups="),
    ],
)
def test_groups_that_do_not_fit_are_refused(parameters, groups, sentence, waves):
    X, y = waves
    with pytest.raises(ValueError, match=sentence):
        kerbin.BinningRegressor(**parameters).fit(X, y, groups=groups)


def test_groups_are_kept_together(waves):
    """Copies of a row in both parts would make any model look perfect."""
    X, y = waves
    rng = np.random.default_rng(1)
    noise = rng.standard_normal(len(y))
    many, group = np.repeat(X, 8, axis=0), np.repeat(np.arange(len(y)), 8)
    labels = np.repeat(y + 2 * noise, 8)
    told = kerbin.BinningRegressor().fit(many, labels, groups=group)
    fooled = kerbin.BinningRegressor().fit(many, labels)
    new = rng.random((2000, 3))
    truth = np.sin(6 * new[:, 0]) + new[:, 1] ** 2
    error = [np.mean((model.predict(new) - truth) ** 2) for model in (told, fooled)]
    assert error[0] < 0.5 * error[1]


def test_sparse_frames_and_matrices_are_the_same_data(waves):
    X, y = waves
    X = np.where(X < 0.7, 0, X)
    want = kerbin.BinningRegressor(tune="off", scale="maxabs").fit(X, y).predict(X)
    for make in sparse.csr_matrix, sparse.csc_matrix, sparse.coo_array, sparse.csr_array:
        model = kerbin.BinningRegressor(tune="off", scale="maxabs").fit(make(X), y)
        assert np.array_equal(model.predict(make(X)), want)
