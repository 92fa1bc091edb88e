"""kerbin against scikit-learn's kernel approximations: score and time in one run.

    python python/bench/peers.py [ijcnn1] [cod-rna]

Every method gets the same data, ijcnn1 as it is and cod-rna scaled to [0, 1], and one thread.  Its
width and regularisation are the best of sixteen settings on other rows: those of NAME.val where
there is such a file, else a fifth of the training rows.  This is not timed; for more than 512
components those tuned for 512 are kept, and KernelRidge is tuned on 2,048 rows.  Then it is
fitted on all training rows and scored on the test rows.  Times are seconds of the processor, so
that others on the machine do not count; the fit and the prediction, both from and to numpy arrays.
Data are looked for in the folder KERBIN_DATA, else in ../shared/data beside the repository.
"""

import os

for name in "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS":
    os.environ[name] = "1"

import itertools
import lzma
import pathlib
import sys
import time
import warnings

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler

import kerbin

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
DATA = pathlib.Path(os.environ.get("KERBIN_DATA") or REPOSITORY / "../shared/data")
SETS = {"ijcnn1": (22, FunctionTransformer()), "cod-rna": (8, MinMaxScaler())}
WIDTHS = [0.0625, 0.125, 0.25, 0.5, 1, 2, 4, 8]
LAMBDAS = [0.1, 1]
CHUNK = 20000  # rows that are predicted at once: the rivals' features take 8 bytes each
CHOOSE_UP_TO = 512


def read(name):
    with lzma.open(DATA / f"{name}.xz") as file:
        X, y = load_svmlight_file(file, n_features=SETS[name.split(".")[0]][0])
    return X.toarray(), y


def load(name):
    """(X, y) of training and validation rows for tuning, all training rows, and test rows."""
    train, test = read(f"{name}.train"), read(f"{name}.test")
    if (DATA / f"{name}.val.xz").exists():
        part, valid = train, read(f"{name}.val")
    else:
        a, b, c, d = train_test_split(*train, test_size=0.2, random_state=0)
        part, valid = (a, c), (b, d)
    scaler = SETS[name][1].fit(train[0])
    return [(scaler.transform(X), y) for X, y in (part, valid, train, test)]


def make_kerbin(rank, width, lambda_):
    return kerbin.BinningClassifier(
        scale="none", grids=rank, sigma=width, lambda_=lambda_, n_jobs=1
    )


def make_fourier(rank, width, lambda_):
    sampler = RBFSampler(gamma=1 / (2 * width**2), n_components=rank, random_state=1)
    return make_pipeline(sampler, RidgeClassifier(alpha=lambda_))


def make_nystrom(rank, width, lambda_):
    map_ = Nystroem(gamma=1 / (2 * width**2), n_components=rank, random_state=1)
    return make_pipeline(map_, RidgeClassifier(alpha=lambda_))


class KernelRidgeOfSome(KernelRidge):
    """On some rows: all of them would need N x N numbers."""

    def fit(self, X, y):
        some = np.random.default_rng(1).permutation(len(X))[: self.rows]
        return super().fit(X[some], y[some])


def make_exact(rank, width, lambda_):
    model = KernelRidgeOfSome(kernel="laplacian", gamma=1 / width, alpha=lambda_)
    model.rows = rank
    return model


METHODS = [
    ("kerbin.BinningClassifier", make_kerbin, [64, 128, 256]),
    ("RBFSampler, RidgeClassifier", make_fourier, [512, 2048]),
    ("Nystroem, RidgeClassifier", make_nystrom, [512, 2048]),
    ("KernelRidge, some rows", make_exact, [8192]),
]


def predict(model, X):
    parts = [model.predict(X[k : k + CHUNK]) for k in range(0, len(X), CHUNK)]
    return np.concatenate(parts)


def score(model, X, y):
    return np.mean(np.where(predict(model, X) > 0, 1, -1) == y)


def choose(make, rank, part, valid):
    """The setting with the best score on the validation rows; the first of equal ones."""
    scores = {
        setting: score(make(rank, *setting).fit(*part), *valid)
        for setting in itertools.product(WIDTHS, LAMBDAS)
    }
    return max(scores, key=scores.get)


def main(names):
    warnings.simplefilter("ignore")
    print("| data | method | R | width, lambda | test score | fit s | predict s | total |")
    print("|---|---|---|---|---|---|---|---|")
    for name in names:
        part, valid, train, test = load(name)
        for method, make, ranks in METHODS:
            setting = None
            for rank in ranks:
                if setting is None or rank <= CHOOSE_UP_TO:
                    setting = choose(make, min(rank, 2048), part, valid)
                began = time.process_time()
                model = make(rank, *setting).fit(*train)
                fitted = time.process_time()
                right = score(model, *test)
                done = time.process_time()
                fit_s, predict_s = fitted - began, done - fitted
                row = (name, method, rank, "{}, {}".format(*setting), f"{100 * right:.2f} %")
                times = (f"{fit_s:.2f}", f"{predict_s:.2f}", f"{fit_s + predict_s:.2f}")
                print("|", " | ".join(map(str, row + times)), "|", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or SETS)
