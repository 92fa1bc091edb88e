"""Type hints are checked by mypy, and the examples of help texts run."""

import doctest
import os
import pathlib
import subprocess
import sys

import pytest

import kerbin

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "python"

USE = """
import numpy as np
import kerbin

X = np.zeros((10, 2))
model = kerbin.BinningClassifier(grids=16, verbose=True).fit(X, [0, 1] * 5, groups=range(10))
labels = model.predict(X)
back = kerbin.BinningRegressor.load("model.kerbin", verify=False)
reveal_type(back.predict(X))
reveal_type(back)
"""


def mypy(path, folder):
    pytest.importorskip("mypy", reason="mypy is not installed: type hints are not checked")
    options = ["--ignore-missing-imports", "--cache-dir", str(folder / "cache")]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(path)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(SOURCE)},
    )
    return done.returncode, done.stdout + done.stderr


def test_mypy_finds_nothing(tmp_path):
    status, told = mypy(SOURCE / "kerbin", tmp_path)
    assert status == 0, told


def test_users_see_the_types(tmp_path):
    path = tmp_path / "use.py"
    path.write_text(USE)
    status, told = mypy(path, tmp_path)
    assert status == 0, told
    assert "float64" in told and "BinningRegressor" in told


@pytest.mark.parametrize("name", ["BinningClassifier", "BinningRegressor", "RandomBinning"])
def test_the_examples_run(name):
    text = getattr(kerbin, name).__doc__
    examples = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    assert examples.examples
    result = doctest.DocTestRunner().run(examples)
    assert result.failed == 0
