"""numpy arrays, scipy sparse matrices and pandas frames as the library's samples."""

import contextlib
import ctypes

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from ._library import Arrays, lib

_DOUBLE, _FLOAT = 0, 1
CHECKS = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}


def check_samples(estimator, X):
    """X to predict for, as scikit-learn checks it."""
    return validate_data(estimator, X, reset=False, **CHECKS)


def _strings(names):
    if names is None:
        return None
    return (ctypes.c_char_p * len(names))(*(str(name).encode() for name in names))


def _fill_values(arrays, X, keep):
    """Points the arrays at X where it lies; `keep` holds what must not go."""
    if sparse.issparse(X):
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        arrays.row_start, arrays.columns = X.indptr.ctypes.data, X.indices.ctypes.data
        arrays.row_start_bytes, arrays.column_bytes = X.indptr.itemsize, X.indices.itemsize
        values = X.data
        keep += [X.indptr, X.indices, values]
    else:
        values = X if all(X.strides) else np.ascontiguousarray(X)  # not one number for all cells
        arrays.row_step, arrays.column_step = values.strides
        keep.append(values)
    arrays.type = _FLOAT if values.dtype == np.float32 else _DOUBLE
    arrays.values = values.ctypes.data


@contextlib.contextmanager
def samples(
    session, X, labels=None, weights=None, groups=None, class_names=None, feature_names=None
):
    """A kb_data over checked X, which it uses without a copy where it can."""
    keep = []
    arrays = Arrays(rows=X.shape[0], features=X.shape[1], borrow=1)
    _fill_values(arrays, X, keep)
    for name, numbers in ("labels", labels), ("weights", weights):
        if numbers is not None:
            numbers = np.ascontiguousarray(numbers, dtype=np.float64)
            keep.append(numbers)
            setattr(arrays, name, numbers.ctypes.data)
    if feature_names is not None:
        arrays.feature_names = _strings(feature_names)
    if class_names is not None:
        arrays.class_names, arrays.classes = _strings(class_names), len(class_names)
    data = session.create("kb_data_from_arrays", arrays)
    try:
        if groups is not None:
            session.call("kb_data_set_groups", data, groups.ctypes.data)
        yield data
    finally:
        lib.kb_data_free(data)
        keep.clear()
