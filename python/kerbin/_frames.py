"""Data frames as the library takes them: the Arrow C data interface.

polars, pyarrow and, where pyarrow is installed, pandas give it themselves.  For pandas without
pyarrow, and for arrays of objects, the structures are made here from numpy arrays.
"""

import collections
import ctypes
import datetime
import decimal
import numbers
import warnings

import numpy as np

from ._library import ArrowArray, ArrowSchema

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class _Stream(ctypes.Structure):
    """struct ArrowArrayStream of Arrow's specification."""


_Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ArrowSchema))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ArrowArray))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]


def is_pandas(X):
    return hasattr(X, "iloc") and hasattr(X, "dtypes") and len(getattr(X, "shape", ())) == 2


def is_frame(X):
    """Whether X has columns with types of their own: no array, no series."""
    gives_arrow = hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__")
    return is_pandas(X) or (gives_arrow and len(getattr(X, "shape", ())) == 2)


def as_table(X):
    """A frame as scikit-learn takes it: a table, not a batch, of pyarrow; names all different."""
    if type(X).__name__ == "RecordBatch" and type(X).__module__.startswith("pyarrow"):
        import pyarrow

        X = pyarrow.Table.from_batches([X])
    if is_pandas(X) and not X.columns.is_unique and _is_named(X):
        return X.set_axis(_different(X.columns), axis=1)
    if hasattr(X, "rename_columns") and len(set(X.column_names)) < len(X.column_names):
        return X.rename_columns(_different(X.column_names))
    return X


def _different(names):
    """All but the first of equal names become name.1, name.2, .. as the library has it."""
    taken, seen, out = set(names), collections.Counter(), []
    for name in names:
        new = name
        while seen[name] and new in taken:
            new = f"{name}.{seen[name]}"
            seen[name] += new in taken
        taken.add(new)
        seen[name] += 1
        out.append(new)
    renamed = len(out) - len(set(names))
    warnings.warn(
        f"{renamed} column{'s'[: renamed > 1]} of a name that came before, renamed as in name.1",
        stacklevel=5,
    )
    return out


def is_numeric(X):
    """Whether all columns of a pandas frame are numpy's numbers, so that it is an array as well."""
    return is_pandas(X) and all(
        getattr(kind, "kind", "O") in "iuf"
        and (isinstance(kind, np.dtype) or "Sparse" in type(kind).__name__)
        for kind in X.dtypes
    )


class Frame:
    """Record batches with one schema.  Whoever made their memory releases it when this goes."""

    def __init__(self, X, names=None):
        """X: a frame, or an array of objects whose columns have these names, or none."""
        self.schema, self.batches, self._keep, self._owned = ArrowSchema(), [], [], []
        self.shape = X.shape
        if not is_frame(X):
            names = [""] * X.shape[1] if names is None else map(str, names)
            self._build(names, (X[:, j] for j in range(X.shape[1])))
        elif (capsule := _stream_of(X)) is not None:
            self._take_stream(capsule)
        elif is_pandas(X):
            names = X.columns if _is_named(X) else [""] * X.shape[1]
            self._build(names, (X.iloc[:, j] for j in range(X.shape[1])))
        else:
            self._take_array(X.__arrow_c_array__())

    def __del__(self):
        for one in self._owned:
            if one.release:
                one.release(ctypes.pointer(one))

    # ---- given ---------------------------------------------------------------

    def _take_array(self, capsules):
        self._keep.append(capsules)
        schema, array = capsules
        self.schema = ArrowSchema.from_address(_pointer(schema, b"arrow_schema"))
        self.batches = [ArrowArray.from_address(_pointer(array, b"arrow_array"))]

    def _take_stream(self, capsule):
        self._keep.append(capsule)
        at = _pointer(capsule, b"arrow_array_stream")
        stream = _Stream.from_address(at)

        def get(function, out):
            if function(at, ctypes.pointer(out)):
                why = stream.get_last_error(at) or b"no reason given"
                raise ValueError("the data frame cannot be read: " + why.decode(errors="replace"))
            self._owned.append(out)
            return out

        get(stream.get_schema, self.schema)
        while (batch := get(stream.get_next, ArrowArray())).release:
            self.batches.append(batch)

    # ---- made ----------------------------------------------------------------

    def _build(self, names, columns):
        schemas, arrays = [], []
        for name, values in zip(names, columns):
            schema, array = self._column(name, values)
            schemas.append(schema)
            arrays.append(array)
        batch = self._array(self.shape[0], [None])
        for one, kind, parts in (self.schema, ArrowSchema, schemas), (batch, ArrowArray, arrays):
            pointers = (ctypes.POINTER(kind) * len(parts))(*map(ctypes.pointer, parts))
            one.n_children, one.children = len(parts), pointers
            self._keep += [parts, pointers]
        self._name(self.schema, "", "+s")
        self.batches = [batch]

    def _name(self, schema, name, format):
        schema.name, schema.format = name.encode(), format.encode()
        schema.release = _NOT_OURS_TO_CALL[0]

    def _array(self, length, buffers, nulls=0):
        """`buffers`: numpy arrays, or None."""
        self._keep.append(buffers)
        array = ArrowArray(length=length, n_buffers=len(buffers), null_count=nulls)
        at = [None if one is None else one.ctypes.data for one in buffers]
        array.buffers = (ctypes.c_void_p * len(buffers))(*at)
        array.release = _NOT_OURS_TO_CALL[1]
        return array

    def _column(self, name, values):
        schema = ArrowSchema()
        levels = getattr(values, "cat", None)  # of pandas
        if levels is not None:
            codes = levels.codes.to_numpy()
            format, _, buffers = _plain(codes)
            missing = codes < 0
        else:
            format, missing, buffers = _as_plain(name, values)
        valid = None if missing is None or not missing.any() else _bits(~missing)
        self._name(schema, name, format)
        array = self._array(len(values), [valid, *buffers], nulls=0 if valid is None else -1)
        if levels is not None:
            parts = self._column(name, levels.categories)
            self._keep.append(parts)
            schema.dictionary, array.dictionary = map(ctypes.pointer, parts)
        return schema, array


def _stream_of(X):
    """None where X has no stream.  That of pandas needs pyarrow, and columns that are not mixed; it
    would name columns that have no names."""
    if not hasattr(X, "__arrow_c_stream__") or (is_pandas(X) and not _is_named(X)):
        return None
    try:
        return X.__arrow_c_stream__()
    except Exception:
        if is_pandas(X):
            return None
        raise


def _ours_is_never_released(_):
    """Not NULL, as that would mean released; Python frees the memory with the frame."""


_NOT_OURS_TO_CALL = [
    {name: type_ for name, type_, *_ in kind._fields_}["release"](_ours_is_never_released)
    for kind in (ArrowSchema, ArrowArray)
]


def _is_named(X):
    """As in scikit-learn: all column names are texts."""
    return all(isinstance(name, str) for name in X.columns)


# ---- columns: a format, which cells are missing, and the buffers behind their bitmap ------------


def _bits(flags):
    return np.packbits(flags, bitorder="little")


_NUMBERS = dict(
    zip(("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"), "cCsSiIlLefg")
)


def _plain(values):
    """numpy's numbers, booleans, dates and durations; None for others."""
    kind = values.dtype.kind
    if kind == "b":
        return "b", None, [_bits(values)]
    if kind in "mM":
        unit = np.datetime_data(values.dtype)[0]
        if unit not in ("s", "ms", "us", "ns"):
            values, unit = values.astype(values.dtype.kind + "8[s]"), "s"
        format = ("ts{}:" if kind == "M" else "tD{}").format(unit[0])
        return format, np.isnat(values), [np.ascontiguousarray(values).view(np.int64)]
    if kind not in "iuf":
        return None
    if f"{kind}{values.dtype.itemsize}" not in _NUMBERS:  # longdouble
        values = values.astype(np.float64)
    values = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("="))
    return _NUMBERS[f"{kind}{values.dtype.itemsize}"], None, [values]


def _as_plain(name, values):
    """A pandas series or index without categories, or an array."""
    kind = getattr(values.dtype, "numpy_dtype", values.dtype)  # of nullable integers and the like
    if hasattr(values.dtype, "tz"):  # in UTC, as Arrow has it
        return _plain(np.asarray(values, dtype=f"M8[{values.dtype.unit}]"))
    if isinstance(kind, np.dtype) and kind.kind in "biufmM":
        if values.dtype == kind:
            return _plain(np.asarray(values))
        missing = np.asarray(values.isna(), dtype=bool)
        filled = values.to_numpy(dtype=kind, na_value=np.zeros(1, dtype=kind)[0])
        format, nat, buffers = _plain(filled)
        return format, missing if nat is None else missing | nat, buffers
    return _objects(name, np.asarray(values, dtype=object))


def is_missing(value):
    # None, NaN, NaT, pandas.NA: what does not equal itself, or will not say.
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


def _utc(moment):
    """A date as numpy takes it; with a time zone in UTC, as Arrow has it."""
    if getattr(moment, "tzinfo", None) is None:
        return moment
    return moment.astimezone(datetime.timezone.utc).replace(tzinfo=None)


def _objects(name, values):
    """Python's objects: numbers, booleans, dates, or all of them as text."""
    missing = np.fromiter(map(is_missing, values), dtype=bool, count=len(values))
    kinds = set(map(type, values[~missing]))
    odd = [k for k in kinds if not issubclass(k, _TAKEN) and k.__name__ not in _TAKEN_OF_PANDAS]
    if odd:
        raise TypeError(
            f"column {name!r} holds {odd[0].__name__}: turn it into numbers, strings, dates or "
            "categories, or leave it out"
        )
    if kinds and all(issubclass(k, (bool, np.bool_)) for k in kinds):
        return "b", missing, [_bits(np.where(missing, False, values).astype(bool))]
    if kinds and all(issubclass(k, _NUMERIC) for k in kinds):
        return "g", missing, [np.where(missing, 0, values).astype(np.float64)]
    if kinds and all(issubclass(k, _DATES) for k in kinds):
        try:
            moments = np.full(len(values), "NaT", dtype="M8[us]")
            moments[~missing] = np.array(list(map(_utc, values[~missing])), dtype="M8[us]")
            return _plain(moments)
        except (TypeError, ValueError, OverflowError):
            pass
    texts = [b"" if gone else str(v).encode() for v, gone in zip(values, missing)]
    starts = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in texts], out=starts[1:])
    return "U", missing, [starts, np.frombuffer(b"".join(texts) + b"\0", dtype=np.uint8)]


_NUMERIC = (numbers.Real, decimal.Decimal, np.number)
_DATES = (datetime.date, np.datetime64)
_TAKEN = (str, *_NUMERIC, *_DATES, np.bool_, np.timedelta64, datetime.time, datetime.timedelta)
_TAKEN_OF_PANDAS = "Interval", "Period"
