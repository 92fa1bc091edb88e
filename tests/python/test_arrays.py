"""Every layout of the same numbers gives the same bits, and inputs are left alone."""

import numpy as np
import pytest
from scipy import sparse

import kerbin
from kerbin._data import samples
from kerbin._library import lib
from kerbin._session import Session


@pytest.fixture(scope="module")
def halves(waves):
    """Numbers that a float holds as well."""
    X, y = waves
    return np.round(X * 64) / 64, y


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.longdouble, object])
@pytest.mark.parametrize("layout", ["C", "F", "strided", "backwards", "read-only"])
def test_layouts_do_not_matter(layout, dtype, halves):
    X, y = halves
    want = kerbin.BinningRegressor().fit(X, y).predict(X)
    A = X.astype(dtype, order="F" if layout == "F" else "C")
    if layout == "strided":
        A = np.repeat(np.repeat(A, 2, axis=0), 3, axis=1)[::2, ::3]
    if layout == "backwards":
        A = np.ascontiguousarray(A[::-1, ::-1])[::-1, ::-1]
    if layout == "read-only":
        A.flags.writeable = False
    before = A.copy()
    assert np.array_equal(kerbin.BinningRegressor().fit(A, y).predict(A), want)
    assert np.array_equal(A, before)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_types_of_sparse_rows_do_not_matter(index, dtype, halves):
    X, y = halves
    X = np.where(X < 0.7, 0, X)
    want = kerbin.BinningRegressor().fit(X, y).predict(X)
    A = sparse.csr_array(X.astype(dtype))
    A.indices, A.indptr = A.indices.astype(index), A.indptr.astype(index)
    assert np.array_equal(kerbin.BinningRegressor().fit(A, y).predict(A), want)


@pytest.mark.parametrize("end", [1, 1000, 2**31 - 1])
def test_rows_beyond_the_entries_are_refused(end, halves):
    X, y = halves
    A = sparse.csr_array(np.where(X < 0.7, 0, X))
    with Session() as session:
        A.has_canonical_format = True  # do not look
        A.indptr[-1] = min(A.nnz + end, 2**31 - 1)
        with pytest.raises(ValueError, match="the rows end at entry"), samples(session, A):
            pass
        A.data, A.indices = A.data[:0], A.indices[:0]
        with pytest.raises(ValueError, match="but there are 0"), samples(session, A):
            pass
        A.indptr = A.indptr[:-3]
        with pytest.raises(ValueError, match="indptr has"), samples(session, A):
            pass


def test_columns_that_change_during_a_fit_lead_nowhere(halves):
    X, y = halves
    A = sparse.csr_array(np.where(X < 0.7, 0, X))
    want = kerbin.BinningRegressor(grids=32).fit(A, y).predict(A)

    def scribble(phase, done):
        B.indices[:] = 2**30

    B = A.copy()
    model = kerbin.BinningRegressor(grids=32, progress=scribble).fit(B, y)
    assert B.indices[0] == 2**30
    assert np.array_equal(model.set_params(progress=None).predict(A), want)


def test_unsorted_and_double_entries_are_put_right_in_a_copy(halves):
    X, y = halves
    X = np.where(X < 0.7, 0, X)
    A = sparse.csr_array(X)
    rows = [slice(a, b) for a, b in zip(A.indptr, A.indptr[1:])]
    data = np.concatenate([np.repeat(A.data[r][::-1] / 2, 2) for r in rows])
    indices = np.concatenate([np.repeat(A.indices[r][::-1], 2) for r in rows])
    B = sparse.csr_array((data, indices, 2 * A.indptr), shape=A.shape)
    want = kerbin.BinningRegressor().fit(A, y).predict(A)
    assert np.array_equal(kerbin.BinningRegressor().fit(B, y).predict(B), want)
    assert np.array_equal(B.indices, indices)


def test_rows_of_doubles_are_not_copied():
    """The library's own memory does not grow by the size of X."""
    resource = pytest.importorskip("resource")
    X = np.ones((1 << 17, 64))  # 64 MiB, all touched
    with Session() as session:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with samples(session, X):
            grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 8 << 10  # KiB


def test_a_set_of_samples_is_freed(halves, monkeypatch):
    class Library:
        freed = 0

        def __getattr__(self, name):
            return getattr(lib, name)

        def kb_data_free(self, data):
            self.freed += 1
            lib.kb_data_free(data)

    library = Library()
    monkeypatch.setattr("kerbin._data.lib", library)
    X, y = halves
    kerbin.BinningRegressor().fit(X, y)
    assert library.freed == 1
    with pytest.raises(ValueError):
        kerbin.BinningRegressor(kernel="gauss").fit(X, y)
    assert library.freed == 2
