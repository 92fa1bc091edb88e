"""The classifier and the regressor."""

from __future__ import annotations

import contextlib
import os
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from ._data import check_samples, check_training
from ._data import samples as samples_of
from ._handle import Model
from ._options import OF_COLUMNS, WARM_START, temporary_file, with_options
from ._ranks import agree, union
from ._updates import GoesOn, goes_on

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from typing_extensions import Self  # typing has it from Python 3.11 on

_OF_CLASSES = {"multiclass", "class-weight", "probability"}
_OF_NUMBERS = {"quantile"}
_ABSENT = 1e-9  # the weight of a row that stands for a class without rows


def _is_of_a_fit(option):
    """Not for files or synthetic data, and not set by the class itself."""
    about_files = option.group == "data" and option.name not in {"split", *OF_COLUMNS}
    return not about_files and option.group not in {"synthetic", "predict"} and option.name != "task"


class _Predictor(GoesOn):
    _attributes: tuple[tuple[str, str], ...] = (
        ("n_iter_ : int", "Steps of the solver."),
        (
            "path_ : list of dict",
            "With `lambda_path`: the fit for each lambda. The model is the last one.",
        ),
        (
            "feature_importances_ : ndarray",
            "Permutation importance of each column of X: by how much the score, accuracy or r2, "
            "drops on validation rows when the column is shuffled. Measured in `fit`, where "
            "`importance` is not off. Below 0 it is noise.",
        ),
        (
            "feature_importances_error_ : ndarray",
            "The standard error of each, over samples of rows.",
        ),
        (
            "fineness_ : ndarray",
            "How finely the grids split each column; their sum is 1. A column may be split finely "
            "and matter little.",
        ),
    )

    def _check_training(self, X, y, sample_weight, groups):
        shape = getattr(y, "shape", ())
        if len(shape) == 2 and shape[1] > 1:
            raise ValueError(
                f"y has {shape[1]} columns, and a model has one target: fit one for each, as "
                f"sklearn.multioutput.MultiOutput{self._kind}({type(self).__name__}()) does"
            )
        X, y = check_training(self, X, y, y_numeric=self._fixed["task"] == "regression")
        y = column_or_1d(y, warn=True)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, y, dtype=np.float64)
        return X, y, {"weights": sample_weight, "groups": self._numbers_of_groups(groups, y)}

    def _numbers_of_groups(self, groups, y):
        """The group of each row as the library takes it: 0, 1, .."""
        by_groups = str(self.split).startswith("group:")
        if groups is None:
            if by_groups:
                raise ValueError(f"split={self.split!r}: fit needs groups=, the group of each row")
            return None
        if not by_groups and self.split != "auto":
            raise ValueError(f"groups are not used with split={self.split!r}; leave it at 'auto'")
        groups = column_or_1d(groups)
        check_consistent_length(groups, y)
        return np.unique(groups, return_inverse=True)[1].astype(np.uint32)

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        comm: Any = None,
    ) -> Self:
        """Learns from X (an array, a scipy sparse matrix or a data frame) and y, the labels of a
        classifier or the numbers of a regressor.

        Rows of one group, such as those of a patient, are kept together when the library
        splits off validation rows for tuning.

        With `comm`, a communicator of mpi4py, all its processes call fit together with the same
        parameters, each with some of the rows, at least one; they get the same model, which
        depends on the order of all rows, those of rank 0 first, but not on who has which.
        `random_state` must then be a number or None, and `groups` are not taken.
        """
        before = self._frame_of()
        if comm is None:
            X, y, about = self._check_training(X, y, sample_weight, groups)
            return self._fit_checked(X, y, {**about, "before": before})
        try:
            error = None
            if groups is not None or not isinstance(self.random_state, (int, type(None))):
                raise ValueError("with comm, groups are not taken, and random_state is a number")
            X, y, about = self._check_training(X, y, sample_weight, None)
        except (ValueError, TypeError) as wrong:
            error = wrong
        agree(comm, error)
        return self._fit_checked(X, y, {**about, "before": before, "comm": comm})

    def _fit_checked(self, X: Any, y: Any, about: dict[str, Any]) -> Self:
        raise NotImplementedError

    def _found_before(self):
        """Values of the last fit for options at 'auto' or 'default'."""
        if not (self.warm_start and hasattr(self, "_model")):
            return {}
        found = {}
        for option in self._options:
            left, last = getattr(self, option.key), self._model.info.get(option.name)
            if option.name == "sigma" and last == 0:  # there is no one number
                continue
            if isinstance(left, str) and type(last) in (int, float):
                found[option.key] = last
            elif left == "auto" and last in option.choices:  # sigma is for that scale
                found[option.key] = last
        return found

    def _learn(self, X, given=None, before=None, **about):
        given = given or {}
        if about["groups"] is not None:
            given["split"] = "group:groups"
        if self._stays(before) and about.get("comm") is None:
            model = self._go_on("kb_model_refit", X, given=given, **about)
        else:
            given = {**self._found_before(), **given}
            model = self._fit_model(X, given=given, **about)
            self._fitted_with = self._parameters()
        return self._take(model, stacklevel=5)

    def _take(self, model, stacklevel=3):
        self._set_model(model)
        self.n_iter_ = self.fit_info_["steps"]
        if not self.fit_info_["converged"]:
            warnings.warn(
                f"not converged after {self.n_iter_} steps; raise max_iter, tol or lambda_",
                ConvergenceWarning,
                stacklevel=stacklevel,
            )
        return self

    def _decide_row(self, X):
        """The decision of one dense row of doubles, soon; None where X must go the usual way.

        Names of columns would have to be compared, so a fit with names goes that way too.
        """
        model = self.__dict__.get("_model")
        if model is None or not model.plain or not model.rows.takes(X):
            return None
        if hasattr(self, "feature_names_in_") or self.n_features_in_ != X.shape[1]:
            return None
        return model.rows.decide(X)

    def _predict(self, X, what):
        """`what`: a method of Model."""
        check_is_fitted(self)
        X = check_samples(self, X)
        with self._session() as session, samples_of(session, X, model=self._model) as data:
            device = getattr(self, "device", None) or "cpu"
            session.call("kb_context_set_device", str(device).encode())
            return what(self._model, session, data, X.shape[0])

    def _of_columns(self, values):
        """Numbers of the features as those of the columns of X; 0 for columns left out."""
        out = np.zeros(self.n_features_in_)
        out[self._used] = values
        return out

    def _importance(self):
        check_is_fitted(self)
        measured = self._model.importance()
        if measured is None:
            raise AttributeError(
                "the importance of the columns was not measured: fit with importance='on'"
            )
        return measured

    @property
    def expected_(self) -> dict[str, Any] | None:
        """What rows held out of a fit say about new ones: a dict with ``rows``, their number, the
        ``error`` (share of wrong rows) or ``rmse``, and the ends of its 95 % interval.  None with
        ``holdout='off'``."""
        check_is_fitted(self)
        return self._model.expected()

    def novelty(self, X: Any) -> NDArray[np.float64]:
        """Rows x 2: the share of grids in which a row meets a bin of the training rows, and the
        share of the rows held out that meet more: near 1 for a row unlike the training rows."""
        return self._predict(X, Model.novelty)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """By how much the score drops when a column is shuffled, on validation rows."""
        return self._of_columns(self._importance()[0])

    @property
    def feature_importances_error_(self) -> NDArray[np.float64]:
        """The standard errors of feature_importances_."""
        return self._of_columns(self._importance()[1])

    @property
    def fineness_(self) -> NDArray[np.float64]:
        """How finely the grids split each column; their sum is 1."""
        check_is_fitted(self)
        return self._of_columns(self._model.fineness())

    def explain(
        self, X: Any, background: Any = None, samples: int = 64
    ) -> tuple[NDArray[np.float64], Any, NDArray[np.float64]]:
        """What each column of X adds to the decisions: Shapley values.

        They are differences from rows of `background` (None: of X), of which `samples` are chosen
        at random, by the seed of the fit.  The decision is that of `decision_function`, or the
        prediction of a regressor (with ``loss='poisson'`` its logarithm).

        Returns
        -------
        contributions : ndarray, rows x columns, or rows x columns x classes for more than two
            Those of a row add up to its decision minus the base.
        base : float, or an ndarray with a number for each class
            The mean decision of the background.
        errors : ndarray
            The standard errors of the contributions, which are from sampled orders of the columns
            and sampled rows of the background.
        """
        check_is_fitted(self)
        X = check_samples(self, X)
        with contextlib.ExitStack() as all_data:
            session = all_data.enter_context(self._session())
            data = all_data.enter_context(samples_of(session, X, model=self._model))
            other = None
            if background is not None:
                rows = check_samples(self, background)
                other = all_data.enter_context(samples_of(session, rows, model=self._model))
            seed = self._model.info["seed"]
            found, errors, base = self._model.explain(
                session, data, X.shape[0], other, samples, seed
            )
        contributions = np.zeros((len(found), self.n_features_in_, len(base)))
        spread = np.zeros_like(contributions)
        contributions[:, self._used], spread[:, self._used] = found, errors
        if len(base) == 1:
            return contributions[..., 0], base[0], spread[..., 0]
        return contributions, base, spread

    def _check_file(self, model, path):
        if model.info["task"] != self._fixed["task"]:
            raise ValueError(f"{os.fspath(path)}: is a model of {model.info['task']}")

    def _take_file(self, model):
        self.n_iter_ = model.info["steps"]


@with_options(lambda o: _is_of_a_fit(o) and o.name not in _OF_NUMBERS, [WARM_START])
class BinningClassifier(ClassifierMixin, _Predictor):
    """Classification by a kernel machine on random binning features.

    With more than two classes `decision_function` has a column for each.  `class_weight` may also
    be a dict of labels and their weights, as in scikit-learn.  `predict_proba` is calibrated on rows
    held out of a fit; it is not available with ``probability='off'``, and with ``holdout='off'``
    only for the logistic loss or ``probability='on'``.
    """

    _fixed = {"task": "classification"}
    _kind = "Classifier"
    _attributes = (("classes_ : ndarray", "The labels, in order."),)
    _examples = """
    >>> import kerbin
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> model = kerbin.BinningClassifier(sigma=0.5, tune="off").fit(X[:200], y[:200])
    >>> model.predict(X[200:205])
    array([1, 1, 0, 0, 0])
    >>> round(model.score(X[200:], y[200:]), 2)
    1.0
    """

    def _fit_checked(self, X, y, about):
        check_classification_targets(y)
        self.classes_ = union(about.get("comm"), y)
        places = np.searchsorted(self.classes_, y)
        if len(self.classes_) < 2:
            only = self.classes_[0]
            raise ValueError(
                f"the labels are of one class, {only}: classification needs two classes or more"
            )
        self._values = _numbers_of(self.classes_)
        words = None if self._values is not None else _words_of(self.classes_)
        labels = places if self._values is None else self._values[places]
        if self._values is None:
            self._values = np.arange(len(self.classes_), dtype=np.float64)
        with contextlib.ExitStack() as files:
            return self._learn(
                X,
                given=self._weights_of_classes(words, files),
                labels=labels,
                class_names=words,
                **about,
            )

    @available_if(goes_on)
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learns from more rows.

        The first call on a new estimator fits and tunes it, and needs `classes`, all labels that
        may come.  Later calls keep the grids and all settings: known bins move from where they are,
        new bins are added.  The first rows should be enough to tune on.
        """
        if self.class_weight is not None and not isinstance(self.class_weight, dict):
            if self.class_weight != "none":
                raise ValueError(
                    f"class_weight={self.class_weight!r} needs all rows at once; "
                    "for partial_fit use a dict or sample_weight"
                )
        if not hasattr(self, "_model"):
            return self._fit_first(X, y, classes, sample_weight)
        X, labels, about = self._check_more(X, y, sample_weight)
        if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes={classes!r} are not those of the first fit, {self.classes_}")
        places = np.searchsorted(self.classes_, labels).clip(max=len(self.classes_) - 1)
        unknown = self.classes_[places] != labels
        if np.any(unknown):
            raise ValueError(
                f"the label {labels[unknown][0]} is not among the classes of the first fit, "
                f"{self.classes_}"
            )
        words = _words_of(self.classes_) if _numbers_of(self.classes_) is None else None
        labels = places if words is not None else self._values[places]
        with contextlib.ExitStack() as files:
            given = self._weights_of_classes(words, files)
            about.update(labels=labels, class_names=words)
            return self._take(self._go_on("kb_model_update", X, given=given, **about))

    def _fit_first(self, X, y, classes, sample_weight):
        """Classes without a row get one that hardly counts."""
        if classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit")
        X, y, about = self._check_training(X, y, sample_weight, None)
        absent = np.setdiff1d(classes, y)
        unknown = np.setdiff1d(y, classes)
        if len(unknown):
            raise ValueError(f"the label {unknown[0]} is not among classes={classes!r}")
        if len(absent):
            if not isinstance(X, np.ndarray) and not sparse.issparse(X):
                raise ValueError(
                    f"no row of the first data frame has the class {absent[0]!r}: all classes must "
                    "occur in it"
                )
            copies = X[np.zeros(len(absent), dtype=np.intp)]
            join = sparse.vstack if sparse.issparse(X) else np.concatenate
            weights = about["weights"] if about["weights"] is not None else np.ones(len(y))
            about["weights"] = np.concatenate([weights, np.full(len(absent), _ABSENT)])
            X, y = join([X, copies]), np.concatenate([y, absent])
            X = X.tocsr() if sparse.issparse(X) else X
        return self._fit_checked(X, y, about)

    def _weights_of_classes(self, words, files):
        """A dict of class weights as the library takes it: a file of labels and weights."""
        if not isinstance(self.class_weight, dict):
            return {}
        names = words if words is not None else [repr(value) for value in self._values.tolist()]
        lines = [
            f"{name} {float(self.class_weight[label])!r}"
            for name, label in zip(names, self.classes_.tolist())
            if label in self.class_weight
        ]
        return {"class_weight": temporary_file("\n".join(lines), files)}

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Rows x classes; for two classes one number per row, positive for the second."""
        row = self._decide_row(X)
        if row is not None:
            return row.copy() if len(row) == 1 else row[np.newaxis].copy()
        decision = self._predict(X, Model.decide)
        return decision.ravel() if decision.shape[1] == 1 else decision

    def predict(self, X: Any) -> NDArray[Any]:
        """The labels."""
        row = self._decide_row(X)
        if row is not None:
            return self.classes_[[int(row[0] > 0) if len(row) == 1 else row.argmax()]]
        values = self._predict(X, Model.label)
        return self.classes_[np.searchsorted(self._values, values)]

    def _gives_probabilities(self):
        """Raises an AttributeError that says why not, for available_if."""
        if hasattr(self, "_model"):
            if self._model.info["probability"] != "none":
                return True
            why = f"the model was fitted with the {self._model.info['loss']} loss"
        else:
            if self.probability in ("on", True):
                return True
            if self.probability in ("auto", None) and self.holdout not in ("off", False):
                return True
            if self.probability in ("auto", None) and self.loss == "logistic":
                return True
            why = f"holdout={self.holdout!r} and loss={self.loss!r}"
        if self.probability in ("off", False):
            why = f"probability={self.probability!r}"
        raise AttributeError(
            f"no probabilities: {why}; use probability='on' or holdout='auto'"
        )

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Rows x classes: the probability of each."""
        return self._predict(X, Model.probability)

    @available_if(_gives_probabilities)
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """The logarithm of predict_proba."""
        return np.log(self.predict_proba(X))

    def predict_set(self, X: Any, coverage: float = 0.9) -> NDArray[np.bool_]:
        """Rows x classes of booleans: the classes that a row may have, so that the sets of a share
        `coverage` of new rows hold the true one."""
        return self._predict(X, lambda model, *of: model.set(*of, coverage))

    def _take_file(self, model):
        super()._take_file(model)
        self._values = model.class_values()
        names = model.class_names()
        if _numbers_of(np.array(names)) is not None:  # "7": then the labels are numbers
            whole = np.all(self._values == np.floor(self._values))
            self.classes_ = self._values.astype(np.int64) if whole else self._values
        else:
            self.classes_ = np.array(names)


@with_options(lambda o: _is_of_a_fit(o) and o.name not in _OF_CLASSES, [WARM_START])
class BinningRegressor(RegressorMixin, _Predictor):
    """Kernel ridge or L1-penalised regression on random binning features."""

    _fixed = {"task": "regression"}
    _kind = "Regressor"
    _examples = """
    >>> import kerbin
    >>> import numpy as np
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> y = np.sin(6 * X[:, 0]) + X[:, 1]
    >>> model = kerbin.BinningRegressor(sigma=1, tune="off").fit(X[:200], y[:200])
    >>> model.predict(X[200:203]).round(2)
    array([1.86, 0.59, 1.84])
    >>> round(model.score(X[200:], y[200:]), 2)
    1.0
    """

    def _fit_checked(self, X, y, about):
        return self._learn(X, labels=y, **about)

    @available_if(goes_on)
    def partial_fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learns from more rows.

        The first call on a new estimator is a fit, with tuning.  Later calls keep the grids and all
        settings: known bins move from where they are, new bins are added.  The first rows should be
        enough to tune on.
        """
        if not hasattr(self, "_model"):
            return self.fit(X, y, sample_weight)
        X, y, about = self._check_more(X, y, sample_weight)
        labels = np.asarray(y, dtype=np.float64)
        return self._take(self._go_on("kb_model_update", X, labels=labels, **about))

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The values."""
        row = self._decide_row(X)
        if row is not None:
            return np.exp(row) if self._model.info["loss"] == "poisson" else row.copy()
        return self._predict(X, Model.label).ravel()

    def predict_interval(self, X: Any, coverage: float = 0.9) -> NDArray[np.float64]:
        """Rows x 2: the ends of intervals that hold the values of a share `coverage` of new rows."""
        return self._predict(X, lambda model, *of: model.interval(*of, coverage))[:, 1:]


def _numbers_of(classes):
    """The labels as different doubles in order; None where they are words."""
    try:
        values = np.asarray(classes.astype(np.float64))
    except (TypeError, ValueError):
        return None
    rising = np.all(np.diff(values) > 0) and np.all(np.isfinite(values))
    return values if rising else None


def _words_of(classes):
    return [str(label) for label in classes.tolist()]
