"""One row: the same answers as for many, whoever asks."""

import pickle
import threading

import numpy as np
import pytest

import kerbin

FAST = {"tune": "off", "grids": 24}


@pytest.fixture(scope="module", params=["numbers", "two", "three"])
def fitted(request, waves, classes):
    X, y = waves
    labels = {"numbers": y, "two": classes[1], "three": classes[2]}[request.param]
    kind = kerbin.BinningRegressor if request.param == "numbers" else kerbin.BinningClassifier
    return kind(**FAST).fit(X, labels), X


def one_by_one(method, X):
    return np.concatenate([method(X[i : i + 1]) for i in range(len(X))])


def test_one_row_is_predicted_as_many_are(fitted):
    model, X = fitted
    X = X[:40].copy()
    X[3, 1], X[5] = np.nan, 1e9
    np.testing.assert_array_equal(one_by_one(model.predict, X), model.predict(X))
    assert model.predict(X[:1]).dtype == model.predict(X).dtype
    if hasattr(model, "decision_function"):
        many = model.decision_function(X)
        np.testing.assert_array_equal(one_by_one(model.decision_function, X), many)


@pytest.mark.parametrize(
    "form", [np.float32, np.asfortranarray, lambda row: row[:, ::-1][:, ::-1], np.ndarray.tolist]
)
def test_other_forms_of_a_row_go_the_usual_way(fitted, form):
    model, X = fitted
    row = np.round(X[:1], 3).astype(np.float32).astype(float)
    np.testing.assert_array_equal(model.predict(form(row)), model.predict(row))


def test_errors_are_those_of_many_rows(fitted):
    model, X = fitted
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:1, :2])
    with pytest.raises(ValueError, match="infinity"):
        model.predict(np.array([[1, np.inf, 0]]))
    with pytest.raises(ValueError, match="NotFitted|not fitted"):
        type(model)().predict(X[:1])


def test_results_are_not_overwritten(fitted):
    model, X = fitted
    first = model.predict(X[:1])
    kept = first.copy()
    model.predict(X[1:2])
    np.testing.assert_array_equal(first, kept)


def test_threads_and_pickles_have_their_own(fitted):
    model, X = fitted
    want = model.predict(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(one_by_one(again.predict, X[:10]), want[:10])
    wrong = []

    def work():
        for _ in range(5):
            if not np.array_equal(one_by_one(model.predict, X[:100]), want[:100]):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_copy_does_not_need_its_file(fitted, tmp_path):
    model, X = fitted
    path = tmp_path / "m.kerbin"
    model.save(path)
    back = type(model).load(path, copy=True)
    with open(path, "r+b") as file:
        file.truncate(10)
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="verify=True"):
        type(model).load(path, verify=False, copy=True)


def test_a_trusted_file_is_the_same_model(fitted, tmp_path):
    model, X = fitted
    model.save(tmp_path / "m.kerbin")
    back = type(model).load(tmp_path / "m.kerbin", verify=False)
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
