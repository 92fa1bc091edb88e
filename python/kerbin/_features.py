"""Feature maps as transformers."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from ._base import Base
from ._data import check_samples, check_training, has_categories, plain_labels, samples
from ._frames import Frame
from ._options import OF_COLUMNS, with_options

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import Self  # typing has it from Python 3.11 on

_GROUPS = {"kernel", "random", "memory"}
_OF_SOME_MAP = {"map", "landmarks"}
_OF_LABELS = {"widths", "linear"}


def _is_of_a_map(*others):
    """Options of a map without labels, and so without trials; `others` are not its own."""
    left_out = {*others, *_OF_LABELS}
    return lambda o: o.name in OF_COLUMNS or (o.group in _GROUPS and o.name not in left_out)


class _Map(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Base):
    """The map of a model that learns zeros: so its file is a model file like any other."""

    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:
        """Learns scaling and the map from X.

        y is used only where X has categories: they become numbers by it.
        """
        X = check_training(self, X)
        return self._set_model(self._fit_model(X, labels=self._labels(X, y)))

    def _labels(self, X, y):
        """Zeros, unless there are categories."""
        if not (isinstance(X, Frame) and self._has_categories(X)):
            return np.zeros(X.shape[0])
        if y is None:
            raise ValueError("X has categories, which become numbers by the labels: use fit(X, y)")
        y = column_or_1d(plain_labels(y))
        check_consistent_length(X, y)
        return y if y.dtype.kind in "biuf" else np.unique(y, return_inverse=True)[1]

    def _has_categories(self, X):
        with (
            warnings.catch_warnings(),
            self._session() as session,
            self._library_options(session, {}) as options,
            samples(session, X, options=options) as data,
        ):
            warnings.simplefilter("ignore")  # the fit gives them
            return has_categories(data)

    def transform(self, X: Any) -> Any:
        """The features of X."""
        check_is_fitted(self)
        X = check_samples(self, X)
        with self._session() as session, samples(session, X, model=self._model) as data:
            return self._features(session, data, X.shape[0])

    def _features(self, session, data, rows):
        return self._model.features(session, data, rows)

    @property
    def _n_features_out(self):
        return self._model.bins_known()

    def _check_file(self, model, path):
        if model.info["map"] != self._fixed["map"]:
            raise ValueError(f"{path}: has the map {model.info['map']}, not {self._fixed['map']}")


@with_options(_is_of_a_map(*_OF_SOME_MAP))
class RandomBinning(_Map):
    """Random binning features: the bins of random grids that a sample falls into.

    `transform` gives Z, a scipy sparse matrix (CSR) with a column for each bin that training data
    fell into, and at most one entry 1/sqrt(grids) a row and grid.  Z Z' approximates the kernel.
    """

    _fixed = {"tune": "off", "task": "regression", "map": "binning"}
    _examples = """
    >>> import kerbin
    >>> import numpy as np
    >>> X = np.random.default_rng(0).random((100, 2))
    >>> Z = kerbin.RandomBinning(grids=64, sigma=0.5).fit_transform(X)
    >>> Z.shape[0], Z.nnz
    (100, 6400)
    >>> bool(np.allclose((Z @ Z.T).diagonal(), 1))
    True
    """

    def _features(self, session, data, rows):
        bins = self._model.bins(session, data, rows)
        known = bins >= 0
        starts = np.zeros(rows + 1, dtype=np.int64)
        np.cumsum(known.sum(axis=1), out=starts[1:])
        columns = bins[known]
        values = np.full(len(columns), 1 / np.sqrt(self._model.info["grids"]))
        return sparse.csr_matrix((values, columns, starts), shape=(rows, self._model.bins_known()))


@with_options(_is_of_a_map(*_OF_SOME_MAP))
class FourierFeatures(_Map):
    """Random Fourier features: `grids` cosines at random frequencies.

    `transform` gives a dense array, rows x grids.
    """

    _fixed = {"tune": "off", "task": "regression", "map": "fourier"}


@with_options(_is_of_a_map("map"))
class NystromFeatures(_Map):
    """Nystrom features: the kernel to `grids` landmarks, made orthonormal.

    `transform` gives a dense array, rows x landmarks, of which there are no more than samples.
    """

    _fixed = {"tune": "off", "task": "regression", "map": "nystrom"}
