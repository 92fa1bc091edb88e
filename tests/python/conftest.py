"""Shared by the tests of the Python package: the program to compare with, and data."""

import os
import subprocess

import numpy as np
import pytest


@pytest.fixture(scope="session")
def program():
    """Runs the program `kerbin` that KERBIN_PROGRAM names; returns what it printed."""
    path = os.environ.get("KERBIN_PROGRAM")
    if not path:
        pytest.skip("KERBIN_PROGRAM names no program to compare with")

    def run(*args):
        done = subprocess.run([path, *map(str, args)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def write_libsvm(path, X, y):
    """Every digit that a double needs."""
    with open(path, "w") as file:
        for row, label in zip(X, y):
            cells = (f"{j + 1}:{float(x)!r}" for j, x in enumerate(row) if x != 0)
            print(f"{float(label)!r}", *cells, file=file)


@pytest.fixture(scope="session")
def waves():
    """Samples of three features in [0, 1], and a wavy function of them."""
    rng = np.random.default_rng(3)
    X = rng.random((400, 3))
    return X, np.sin(6 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(400)


@pytest.fixture(scope="session")
def classes(waves):
    """The same samples with labels of two and of three classes."""
    X, y = waves
    return X, np.where(y > 0.5, 7, -3), np.digitize(y, [0, 1])
