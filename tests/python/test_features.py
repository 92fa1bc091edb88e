"""The maps as transformers."""

import numpy as np
import pytest
from scipy import sparse

import kerbin


def test_z_is_csr_with_one_entry_a_grid(waves):
    X, _ = waves
    Z = kerbin.RandomBinning(grids=100, sigma=0.5).fit_transform(X)
    assert sparse.issparse(Z) and Z.format == "csr" and Z.has_sorted_indices
    assert np.all(np.diff(Z.indptr) == 100)
    assert np.all(Z.data == 0.1)
    far = kerbin.RandomBinning(grids=100, sigma=0.5).fit(X).transform(X + 1000)
    assert far.nnz == 0  # no known bin


@pytest.mark.parametrize("make", [kerbin.RandomBinning, kerbin.FourierFeatures], ids=str)
def test_z_z_transposed_approximates_the_kernel(make, waves):
    """Within five deviations: 1/2 at most for a bin, 1 for a product of cosines."""
    X, _ = waves
    X = X[:60]
    grids, sigma = 4000, np.array([0.5, 1, 2])
    Z = make(grids=grids, sigma=sigma, scale="none").fit_transform(X)
    K = np.exp(-np.sum(np.abs(X[:, None] - X) / sigma, axis=2))
    got = Z @ Z.T
    got = got.toarray() if sparse.issparse(got) else got
    assert np.abs(got - K).max() < 5 / np.sqrt(grids)


def test_all_landmarks_give_the_kernel_itself(waves):
    X, _ = waves
    X = X[:60]
    Z = kerbin.NystromFeatures(grids=60, sigma=0.5, scale="none").fit_transform(X)
    K = np.exp(-np.sum(np.abs(X[:, None] - X) / 0.5, axis=2))
    assert np.abs(Z @ Z.T - K).max() < 1e-9


def test_names_of_features_come_out(waves):
    X, _ = waves
    names = kerbin.FourierFeatures(grids=3).fit(X).get_feature_names_out()
    assert list(names) == ["fourierfeatures0", "fourierfeatures1", "fourierfeatures2"]
    frame = kerbin.FourierFeatures(grids=3).set_output(transform="pandas").fit_transform(X)
    assert list(frame.columns) == list(names)


def test_a_row_alone_gets_what_it_gets_among_others(waves):
    X, _ = waves
    for make in kerbin.RandomBinning, kerbin.FourierFeatures, kerbin.NystromFeatures:
        transformer = make(grids=30).fit(X)
        whole = transformer.transform(X)
        assert abs(transformer.transform(X[7:8]) - whole[7:8]).max() == 0
