"""The eight sets of experiments/accuracy as lines of LIBSVM text, their splits, and arrays of them."""

import os
import pathlib

import numpy as np
import sets

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = os.environ.get("KERBIN_DATA") or str(ROOT.parent / "shared" / "data")


def load(name):
    """The lines of NAME or NAME.xz in the folder of the data."""
    path = sets.find(DATA, name)
    if not path:
        raise SystemExit(f"{name}: not in {DATA}; set KERBIN_DATA")
    lines = sets.lines_of(path)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    return lines


def cut(lines, share, seed):
    """A share of the lines at random, and the others."""
    order = np.random.RandomState(seed).permutation(len(lines))
    parts = np.split(order, [int(len(lines) * share)])
    return tuple([lines[i] for i in part] for part in parts)


def training(name):
    """Lines that are in no test part."""
    if name in sets.SPLIT:  # of the seeds that the table has
        lines = load(f"{name}.libsvm")
        keep = np.ones(len(lines), bool)
        for seed in sets.TABLE_SEEDS:
            order = np.random.RandomState(seed).permutation(len(lines))
            keep[order[int(len(lines) * 0.8):]] = False
        return [lines[i] for i in np.flatnonzero(keep)]
    # The validation rows of ijcnn1 are there to be used.
    return load(f"{name}.train") + (load("ijcnn1.val") if name == "ijcnn1" else [])


def split(name, seed, inner=False):
    """Lines to train and lines to test; inner: of the training lines alone."""
    if inner:
        return cut(training(name), 0.75, 999 + seed)
    if name in sets.SPLIT:
        return cut(load(f"{name}.libsvm"), 0.8, seed)
    return training(name), load(f"{name}.test")


def parse(lines, columns=None):
    """A dense array of floats and the labels; entries beyond the columns, if given, are left out."""
    counts = np.array([line.count(":") for line in lines])
    flat = np.fromstring("".join(lines).replace(":", " "), sep=" ")
    labelled = np.zeros(len(flat), bool)
    labelled[np.cumsum(1 + 2 * counts) - 2 * counts - 1] = True
    entries = flat[~labelled].reshape(-1, 2)
    row, column = np.repeat(np.arange(len(lines)), counts), entries[:, 0].astype(int) - 1
    width = columns or int(column.max()) + 1
    X, known = np.zeros((len(lines), width), "f4"), column < width
    X[row[known], column[known]] = entries[known, 1]
    return X, flat[labelled]


def error(name, truth, predicted):
    """RMSE, or the share of wrong rows in percent."""
    if name in sets.REGRESSION:
        return float(np.sqrt(np.mean((predicted - truth) ** 2)))
    return 100 * float(np.mean(predicted != truth))
