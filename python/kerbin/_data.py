"""numpy arrays, scipy sparse matrices and data frames as the library's samples."""

import contextlib
import ctypes

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _check_y, check_consistent_length

from ._checks import validate_data
from ._frames import Frame, as_table, is_frame, is_missing, is_numeric
from ._library import Arrays, Arrow, ArrowArray, ColumnInfo, lib
from ._options import OF_COLUMNS

_DOUBLE, _FLOAT = 0, 1
_CATEGORY = 4
_CHECKS = {
    "accept_sparse": "csr",
    "dtype": [np.float64, np.float32],
    "ensure_all_finite": "allow-nan",
}
_NOTHING = "no_validation"  # scikit-learn's word for a y that is not there


# ---- checks -----------------------------------------------------------------


def check_training(estimator, X, y=_NOTHING, **of_y):
    """X as samples() takes it, and y as an array where there is one."""
    X, y, asks = as_table(X), plain_labels(y), _asks_for_columns(estimator)
    if is_frame(X) and (asks or not is_numeric(X)):
        return _frame(estimator, X, y, **of_y)
    if asks and sparse.issparse(X):
        raise TypeError("types, ignore and columns are for data frames and arrays, not sparse X")
    try:
        checked = validate_data(estimator, X, y, **_CHECKS, **of_y)
    except ValueError as error:
        if is_frame(X) or not _is_about_words(error):
            raise
        return _frame(estimator, _objects(X), y, **of_y)
    values = checked if y is _NOTHING else checked[0]
    if asks:
        return Frame(values) if y is _NOTHING else (Frame(values), checked[1])
    if is_frame(X) and not sparse.issparse(values) and _has_constants(values):
        return _frame(estimator, X, y, **of_y)  # without those columns, as from a file
    return checked


def _frame(estimator, X, y, **of_y):
    validate_data(estimator, X, y, skip_check_array=True)
    frame = Frame(X)
    if y is _NOTHING:
        return frame
    y = _check_y(y, estimator=estimator, **of_y)
    check_consistent_length(frame, y)
    return frame, y


def check_samples(estimator, X):
    """X to predict for.

    The columns of a frame are matched by name, by the library, where the model has other columns
    than numbers or has left some out.  A model of numbers alone has scikit-learn's rule: the same
    names in the same order.
    """
    X, names = as_table(X), getattr(estimator, "feature_names_in_", None)
    if estimator._model.plain:
        if is_frame(X) and not is_numeric(X):
            return Frame(validate_data(estimator, X, reset=False, skip_check_array=True))
        try:
            return validate_data(estimator, X, reset=False, **_CHECKS)
        except ValueError as error:
            if not _is_about_words(error):
                raise
        return Frame(_objects(X), names)
    if is_frame(X):
        return Frame(X)
    validate_data(estimator, X, reset=False, skip_check_array=True)
    if sparse.issparse(X):
        raise TypeError("the model has columns that are no numbers: X must be a data frame")
    return Frame(X if isinstance(X, np.ndarray) else _objects(X), names)


def _asks_for_columns(estimator):
    """Whether an option says what the columns are."""

    def says(value, default):
        if isinstance(value, str):
            return value != default
        return value is not None and (not hasattr(value, "__len__") or len(value) > 0)

    return any(
        says(getattr(estimator, option.key), option.default)
        for option in estimator._options
        if option.name in OF_COLUMNS
    )


def _is_about_words(error):
    return "could not convert string to float" in str(error)


def _objects(X):
    """Rows of words and numbers."""
    return np.asarray(X, dtype=object)


def _has_constants(values):
    with np.errstate(invalid="ignore"):
        some = np.fmax.reduce(values), np.fmin.reduce(values)
    missing = np.isnan(values).any(axis=0)
    return bool((((some[0] == some[1]) & ~missing) | np.isnan(some[0])).any())


def plain_labels(y):
    """Labels of a data frame's library as numpy has them.  None may be missing."""
    kind = getattr(getattr(y, "dtype", None), "numpy_dtype", None)  # of nullable ones
    attributes = "__arrow_c_stream__", "__arrow_c_array__", "iloc"
    given = kind is not None or any(hasattr(y, attribute) for attribute in attributes)
    if given and len(getattr(y, "shape", (0,))) == 1:
        if hasattr(y, "dictionary_decode"):  # pyarrow's categories
            y = y.dictionary_decode()
        if isinstance(kind, np.dtype) and kind.kind != "O" and not y.isna().any():
            y = y.to_numpy(dtype=kind)
        else:
            y = np.asarray(y)
    if getattr(getattr(y, "dtype", None), "kind", "") == "O" and any(map(is_missing, np.ravel(y))):
        raise ValueError("Input y contains NaN or None: leave out the rows without a label")
    return y


# ---- samples ----------------------------------------------------------------


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
        # Taken once: another thread may put other arrays in their place.
        starts, columns, values = (
            np.ascontiguousarray(each) for each in (X.indptr, X.indices, X.data)
        )
        if starts.size != arrays.rows + 1:
            raise ValueError(f"X has {arrays.rows} rows, but indptr has {starts.size} numbers")
        arrays.row_start, arrays.columns = starts.ctypes.data, columns.ctypes.data
        arrays.row_start_bytes, arrays.column_bytes = starts.itemsize, columns.itemsize
        arrays.counted, arrays.entries = 1, min(columns.size, values.size)
        keep += [starts, columns, values]
    else:
        values = X if all(X.strides) else np.ascontiguousarray(X)  # not one number for all cells
        arrays.row_step, arrays.column_step = values.strides
        keep.append(values)
    arrays.type = _FLOAT if values.dtype == np.float32 else _DOUBLE
    arrays.values = values.ctypes.data


def _fill_frame(arrow, frame, keep):
    pointers = (ctypes.POINTER(ArrowArray) * len(frame.batches))(
        *map(ctypes.pointer, frame.batches)
    )
    arrow.schema, arrow.batch = ctypes.pointer(frame.schema), pointers
    arrow.batches = len(frame.batches)
    keep += [frame, pointers]


def _create(session, about, options, model):
    """`about`: an Arrays or an Arrow."""
    if isinstance(about, Arrays):
        return session.create("kb_data_from_arrays", about)
    own = None if options else session.create("kb_options_create")
    try:
        data = ctypes.c_void_p()
        like = model.handle if model else None
        session.work("kb_data_from_arrow", options or own, about, like, data)
        return data
    finally:
        lib.kb_options_free(own)


@contextlib.contextmanager
def samples(
    session,
    X,
    labels=None,
    weights=None,
    groups=None,
    class_names=None,
    feature_names=None,
    options=None,
    model=None,
):
    """A kb_data over checked X, an array being used without a copy where that can be.

    `options` to train, `model` to predict.
    """
    keep = []
    if isinstance(X, Frame):
        about = Arrow()
        _fill_frame(about, X, keep)
    else:
        about = Arrays(rows=X.shape[0], features=X.shape[1], borrow=1)
        _fill_values(about, X, keep)
        if feature_names is not None:
            about.feature_names = _strings(feature_names)
    for name, numbers in ("labels", labels), ("weights", weights):
        if numbers is not None:
            numbers = np.ascontiguousarray(numbers, dtype=np.float64)
            keep.append(numbers)
            setattr(about, name, numbers.ctypes.data)
    if class_names is not None:
        about.class_names, about.classes = _strings(class_names), len(class_names)
    data = _create(session, about, options, model)
    try:
        if groups is not None:
            session.call("kb_data_set_groups", data, groups.ctypes.data)
        yield data
    finally:
        lib.kb_data_free(data)
        keep.clear()


def has_categories(data):
    columns = (ColumnInfo() for _ in range(lib.kb_data_features(data)))
    return any(
        lib.kb_data_column(data, j, column) == 0 and column.type == _CATEGORY
        for j, column in enumerate(columns)
    )
