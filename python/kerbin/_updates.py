"""What a fit that goes on from a model needs: more rows, or a warm start."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    column_or_1d,
)

from ._base import Base
from ._data import check_samples, plain_labels

# Parameters that may change between two fits of a warm start that goes on from the weights.
_MAY_CHANGE = {
    *("lambda_", "loss", "class_weight", "probability", "holdout", "tol", "max_iter", "max_memory"),
    *("n_jobs", "verbose", "progress", "warm_start", "budget", "metric", "importance", "tune"),
}


def goes_on(estimator):
    """Raises an AttributeError that says why not, for available_if."""
    for key, needed in (("map", "binning"), ("penalty", "l2"), ("multiclass", "ovr")):
        value = getattr(estimator, key, needed)
        if value not in (needed, None):
            raise AttributeError(f"{key}={value!r} learns from all rows at once")
    return True


class GoesOn(Base):
    def _parameters(self):
        """Those that say what the grids are, as they are now."""
        found = self.get_params(deep=False).items()
        return {key: repr(value) for key, value in found if key not in _MAY_CHANGE}

    def _stays(self, before):
        """Whether a warm start can go on from the weights: `before` are the columns and classes of
        the last fit."""
        if not (self.warm_start and hasattr(self, "_model")) or getattr(self, "lambda_path", 0):
            return False
        info = self._model.info
        return (
            (info["map"], info["penalty"]) == ("binning", "l2")
            and getattr(self, "multiclass", "ovr") != "softmax"
            and before == self._frame_of()
            and getattr(self, "_fitted_with", None) == self._parameters()
        )

    def _frame_of(self):
        """The columns and the classes."""
        names, classes = getattr(self, "feature_names_in_", None), getattr(self, "classes_", None)
        lists = [None if of is None else list(of) for of in (names, classes)]
        return getattr(self, "n_features_in_", None), *lists

    def _check_more(self, X, y, sample_weight):
        """New rows for a model that is there."""
        X = check_samples(self, X)
        y = column_or_1d(plain_labels(y), warn=True)
        check_consistent_length(X, y)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, y, dtype=np.float64)
        return X, y, {"weights": sample_weight}
