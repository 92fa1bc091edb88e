"""What all estimators share: options, fitting, files."""

from __future__ import annotations

import contextlib
import ctypes
import numbers
import os
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ._data import samples
from ._handle import Model
from ._library import lib
from ._options import Option
from ._session import Session

if TYPE_CHECKING:
    from typing_extensions import Self  # typing has it from Python 3.11 on

_SEEDS = 2**31 - 1


class Base(BaseEstimator):
    """`_options` lists the options whose values are parameters; with_options sets it."""

    _options: tuple[Option, ...] = ()
    _fixed: dict[str, str] = {}  # options that are no parameters, by the library's names
    # For help texts, beside those of the classes below.
    _attributes: tuple[tuple[str, str], ...] = (
        ("n_features_in_, feature_names_in_", "As in scikit-learn."),
        (
            "fit_info_ : dict",
            "Information on the fit: tuned values, sizes, steps and scores; and its cost (seconds, "
            "bytes), which is 0 in a model that was read from a file. `sigma` is a number: the "
            "single width, or the middle of the default rule, or 0; `sigma_rule` says "
            "which ('equal', 'default', 'list', 'file', 'learned').",
        ),
        (
            "columns_ : list of dict",
            "What each column is taken as: name, type ('number', 'boolean', 'date', 'category'), "
            "the names of its levels, and how many training rows have no value there. Columns that "
            "are left out come last; their type ('id', 'constant', 'ignored') says why.",
        ),
        (
            "shortened_ : list of str",
            "What the parameter budget left no time for, or had to be made smaller.",
        ),
        (
            "tried_ : list of dict",
            "The same as `trials_`.",
        ),
        (
            "trials_ : list of dict",
            "The trials of the tuner on validation rows, in order: widths, loss, sigma, lambda, "
            "grids, steps, error, seconds. Empty where nothing was tuned; the seconds are NaN in a "
            "model that was read from a file.",
        ),
    )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    def _more_tags(self):  # the same, before scikit-learn 1.6
        return {"X_types": ["2darray", "sparse"], "allow_nan": True}

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_model")  # not by the underscore at the end of lambda_

    # ---- options -------------------------------------------------------------

    def _wishes(self, files, given):
        """(name, text) of all options that are not at the library's default."""
        yield from self._fixed.items()
        for option in self._options:
            value = given.get(option.key, getattr(self, option.key))
            if option.key == "random_state" and not isinstance(value, numbers.Integral | None):
                value = check_random_state(value).randint(_SEEDS)
            if value is not None:
                yield option.name, option.text(value, files)

    @contextlib.contextmanager
    def _library_options(self, session, given):
        options = session.create("kb_options_create")
        try:
            with contextlib.ExitStack() as files:
                for name, text in self._wishes(files, given):
                    session.call("kb_options_set", options, name.encode(), text.encode())
                yield options
        finally:
            lib.kb_options_free(options)

    # ---- fitting -------------------------------------------------------------

    def _session(self, comm=None):
        return Session(self.n_jobs, self.progress or bool(self.verbose), comm)

    def _fit_model(self, X, given=None, work=None, comm=None, **about):
        """A model for checked X.  `given`: values that go before the parameters; `work`: what to
        do with session, options and data instead of a fit; `comm`: the ranks that fit together."""
        names = getattr(self, "feature_names_in_", None)
        # Whoever stops this fit has none of these.
        for old in "_model", "fit_info_", "trials_", "path_", "columns_", "_used":
            vars(self).pop(old, None)
        with (
            self._session(comm) as session,
            self._library_options(session, given or {}) as options,
            samples(session, X, feature_names=names, options=options, **about) as data,
        ):
            if comm is not None:
                session.work("kb_data_deal", data)
            if work is not None:
                return work(session, options, data)
            if getattr(self, "lambda_path", 0):
                return self._fit_path(session, options, data)
            handle = ctypes.c_void_p()
            session.work("kb_model_fit", options, data, handle)
            return Model(handle)

    def _go_on(self, call, X, given=None, **about):
        """A model for checked X, made from the present one by `call`."""
        names = getattr(self, "feature_names_in_", None)
        with (
            self._session() as session,
            self._library_options(session, given or {}) as options,
            samples(session, X, feature_names=names, model=self._model, **about) as data,
        ):
            handle = ctypes.c_void_p()
            session.work(call, options, self._model.handle, data, handle)
            return Model(handle)

    def _fit_path(self, session, options, data):
        """The last model of a path; `path_` describes all of them."""
        path = ctypes.c_void_p()
        session.work("kb_path_fit", options, data, None, None, path)
        try:
            count = lib.kb_path_count(path)
            infos = [lib.kb_path_info(path, k).contents.as_dict() for k in range(count)]
            handle = ctypes.c_void_p()
            # The message of a failure is in the session's context.
            session._check(lib.kb_path_take(path, count - 1, handle))
        finally:
            lib.kb_path_free(path)
        told = "lambda", "nonzeros", "objective", "gap", "steps", "converged", "train_score"
        self.path_ = [{key: info[key] for key in told} for info in infos]
        return Model(handle)

    def _set_model(self, model):
        self._model = model
        self.fit_info_ = model.info
        self.trials_ = model.trials()
        self.shortened_ = model.shortened()
        self.columns_ = list(model.columns())
        self._used = self._columns_used(model.info["features"])
        return self

    @property
    def tried_(self) -> list[dict[str, Any]]:
        """The trials of the tuner: the same list as trials_."""
        return self.trials_

    def _columns_used(self, features):
        """The places of the features among the columns of X."""
        if features == self.n_features_in_:  # also of a file, which does not count the others
            return np.arange(features)
        return np.fromiter(self._model.places(), dtype=np.intp)

    # ---- files ---------------------------------------------------------------

    def save(
        self, path: str | os.PathLike[str], compact: bool = False, drop: float = 0.0
    ) -> None:
        """Writes the model file, which the program kerbin reads too.

        With ``compact=True`` the file has a third of the size or less, and decisions move a
        little: ``load(path).compaction_`` says how far.  ``drop`` is the share of the squares of
        all weights that the smallest ones, which are dropped, may have.  This estimator does not
        change.
        """
        check_is_fitted(self)
        if drop and not compact:
            raise ValueError("drop is for compact models: give compact=True")
        (self._model.compacted(drop) if compact else self._model).write(path)

    @property
    def compaction_(self) -> dict[str, float] | None:
        """By how much the decisions of a compact model may differ from those of the whole one:
        "typical", the root of the mean square, and "most"; and how many bins have "dropped" their
        weights.  None for others."""
        check_is_fitted(self)
        return self._model.compaction()

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], verify: bool = True, copy: bool = False
    ) -> Self:
        """An estimator from a model file, whoever wrote it.

        Parameters that are in the file have its values; the others have their defaults.  With
        ``verify=False`` neither the checksum nor the bins of the file are checked, which takes
        time that does not grow with the model: for a file that was verified before.  The file is
        mapped into memory and must not change while the model lives; with ``copy=True`` it is
        read into memory, and may.
        """
        if copy and not verify:
            raise ValueError("copy=True reads all of the file, and verifies it: leave verify=True")
        model = Model.read(path, verify, copy)
        self = cls()
        self._check_file(model, path)
        for option in self._options:
            found = _asked_for(model.info, option.name)
            if option.takes(found):
                setattr(self, option.key, found)
        self.n_features_in_ = model.info["features"]
        names = model.feature_names()
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        self._take_file(model)
        return self._set_model(model)

    def _check_file(self, model, path):
        pass

    def _take_file(self, model):
        pass


def _asked_for(info, name):
    """The value of an option that gives what the model has; None where only trials can, as for
    learned widths, and where the model has none."""
    if name == "quantile":
        return info[name] or None
    if name != "sigma":
        return info.get(name.replace("-", "_"))
    rule = info["sigma_rule"]
    asked = {"equal": info["sigma"], "default": "default", "learned": None}
    return asked.get(rule, info["sigma_text"])
