"""A stream of batches: partial_fit against a fit of all rows so far.

    python stream.py DATA [--batches 10] [--jobs 1] NAME ..

NAME: cadata, ijcnn1, cod-rna, letter, with files as in scripts/fetch-data in the folder DATA, plain
or as .xz.  After each batch the error on the test rows is printed: rmse for cadata, else the
percentage of wrong rows.

    update   partial_fit, batch after batch
    refit    a fit of all rows so far, with the grids and settings of the first batch
    tuned    a fit of all rows so far, tuned on them (after batches 2, 5 and 10 only)
    sgd      scikit-learn's SGD on the same features, one pass over each batch
    last     a fit of this batch alone, tuned on it
"""

import argparse
import lzma
import pathlib
import time
import warnings

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import SGDClassifier, SGDRegressor

import kerbin

TEST_ROWS = 20000


def read(folder, name, features=None):
    path = pathlib.Path(folder) / name
    if path.exists():
        return load_svmlight_file(str(path), n_features=features)
    with lzma.open(f"{path}.xz") as file:
        return load_svmlight_file(file, n_features=features)


def load(folder, name):
    """Shuffled rows to learn from, and test rows."""
    rng = np.random.default_rng(0)
    if name == "cadata":
        X, y = read(folder, "cadata.libsvm")
        order = rng.permutation(len(y))
        X, y = X.toarray()[order], y[order]
        return X[:16512], y[:16512], X[16512:], y[16512:]
    X, y = read(folder, f"{name}.train")
    test, labels = read(folder, f"{name}.test", X.shape[1])
    order, some = rng.permutation(len(y)), rng.permutation(len(labels))[:TEST_ROWS]
    return X.toarray()[order], y[order], test.toarray()[some], labels[some]


class Sgd:
    """On the bins of the first model; bins that come later are not known to it."""

    def __init__(self, model, classes):
        self.model, self.classes = model._model, classes
        self.learner = (
            SGDRegressor(random_state=0) if classes is None else SGDClassifier(random_state=0)
        )
        self.centre = self.unit = None

    def features(self, X):
        with kerbin._session.Session(1) as session, kerbin._data.samples(session, X) as data:
            bins = self.model.bins(session, data, len(X))
        known = bins >= 0
        starts = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
        values = np.full(known.sum(), 1 / np.sqrt(bins.shape[1]))
        return sparse.csr_matrix(
            (values, bins[known], starts), shape=(len(X), self.model.bins_known())
        )

    def learn(self, X, y):
        if self.classes is not None:
            return self.learner.partial_fit(self.features(X), y, classes=self.classes)
        if self.centre is None:
            self.centre, self.unit = y.mean(), y.std()
        return self.learner.partial_fit(self.features(X), (y - self.centre) / self.unit)

    def predict(self, X):
        out = self.learner.predict(self.features(X))
        return out if self.classes is not None else out * self.unit + self.centre


def error_of(model, X, y, classes):
    wrong = model.predict(X) - y
    return np.sqrt(np.mean(wrong**2)) if classes is None else 100 * np.mean(wrong != 0)


def run(name, wishes):
    X, y, X_test, y_test = load(wishes.data, name)
    classes = None if name == "cadata" else np.unique(y)
    make = kerbin.BinningRegressor if classes is None else kerbin.BinningClassifier
    more = {} if classes is None else {"classes": classes}

    def error(model):
        return error_of(model, X_test, y_test, classes)

    parts = np.array_split(np.arange(len(y)), wishes.batches)
    stream, sgd, seconds = make(n_jobs=wishes.jobs), None, 0
    again = make(n_jobs=wishes.jobs, warm_start=True)
    print(f"{name}: {len(y)} rows, {wishes.batches} batches", flush=True)
    for k, part in enumerate(parts):
        began = time.perf_counter()
        stream.partial_fit(X[part], y[part], **more)
        seconds += time.perf_counter() - began if k else 0
        far = np.concatenate(parts[: k + 1])
        again.fit(X[far], y[far])
        sgd = sgd or Sgd(stream, classes)
        sgd.learn(X[part], y[part])
        line = f"{k + 1:3} update {error(stream):.5g} refit {error(again):.5g}"
        line += f" sgd {error(sgd):.5g}"
        if k + 1 in (2, 5, len(parts)):
            began = time.perf_counter()
            tuned = make(n_jobs=wishes.jobs).fit(X[far], y[far])
            line += f" tuned {error(tuned):.5g} in {time.perf_counter() - began:.2f} s"
        if k + 1 == len(parts):
            line += f" last {error(make(n_jobs=wishes.jobs).fit(X[part], y[part])):.5g}"
            line += f"; updates took {seconds:.2f} s"
        print(line, flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument("names", nargs="+")
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1)
    wishes = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in wishes.names:
        run(name, wishes)


if __name__ == "__main__":
    main()
