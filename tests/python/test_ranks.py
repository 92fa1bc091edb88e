"""Fits by several processes, through mpi4py: the model of one, byte for byte."""

import importlib.util
import shutil
import subprocess
import sys

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None or shutil.which("mpirun") is None,
    reason="no mpi4py, or no mpirun",
)

FIT = """
import sys
import numpy as np
from mpi4py import MPI
import kerbin

comm = MPI.COMM_WORLD
kind, path = sys.argv[1:]
rng = np.random.RandomState(0)
X = rng.uniform(-1, 1, (9000, 3))
f = np.sin(5 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.randn(9000)
rank, ranks = comm.Get_rank(), comm.Get_size()
# Unequal parts, which the library deals out again.
begin, end = (9000 * k * (k + 1) // (ranks * (ranks + 1)) for k in (rank, rank + 1))
X = X[begin:end]
if kind == "numbers":
    model = kerbin.BinningRegressor(grids=64, sigma=0.5, tune="off").fit(X, f[begin:end], comm=comm)
elif kind == "words":
    y = np.array(["low", "middle", "high"])[np.digitize(f[begin:end], [0, 1])]
    model = kerbin.BinningClassifier(grids=64, sigma=0.5, tune="off").fit(X, y, comm=comm)
elif kind == "wrong":
    if rank == 1:
        X[3, 1] = np.inf
    try:
        kerbin.BinningRegressor().fit(X, f[begin:end], comm=comm)
    except ValueError as error:
        assert "infinity" in str(error) and (rank == 1 or str(error).startswith("rank 1: ")), error
    sys.exit()
if rank == 0:
    model.save(path)
everywhere = comm.allgather(model.predict(np.zeros((1, 3)))[0])
assert len(set(everywhere)) == 1, everywhere
"""


def fit(ranks, kind, path):
    mpirun = ["mpirun", "--oversubscribe", "--allow-run-as-root", "-n", str(ranks)]
    run = subprocess.run(
        [*mpirun, sys.executable, "-m", "mpi4py", "-c", FIT, kind, str(path)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return path.read_bytes() if path.exists() else None


@pytest.mark.parametrize("kind", ["numbers", "words"])
def test_any_number_of_ranks_gives_the_same_model(tmp_path, kind):
    models = [fit(ranks, kind, tmp_path / f"{kind}-{ranks}") for ranks in (1, 2, 3)]
    assert models[0] == models[1] == models[2]


def test_what_is_wrong_on_one_rank_is_told_on_all(tmp_path):
    fit(3, "wrong", tmp_path / "none")


def test_callbacks_in_rounds_give_what_one_call_gives(tmp_path):
    """As for arrays beyond the counts of MPI."""
    script = (
        "import kerbin._ranks as r; r._MOST = 100; r.__dict__['_MOST'] = 100\n" + FIT
    )
    path = tmp_path / "rounds"
    mpirun = ["mpirun", "--oversubscribe", "--allow-run-as-root", "-n", "3"]
    run = subprocess.run(
        [*mpirun, sys.executable, "-m", "mpi4py", "-c", script, "numbers", str(path)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert path.read_bytes() == fit(1, "numbers", tmp_path / "one")


def test_groups_and_generators_are_not_taken():
    import kerbin
    from mpi4py import MPI

    X, y = np.zeros((4, 1)), np.arange(4.0)
    model = kerbin.BinningRegressor(random_state=np.random.RandomState(0))
    with pytest.raises(ValueError, match="with comm"):
        model.fit(X, y, comm=MPI.COMM_SELF)
