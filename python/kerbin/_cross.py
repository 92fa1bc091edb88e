"""Cross-validation by the library."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np
from sklearn.base import clone

from ._library import FOLD, lib
from ._models import BinningClassifier, BinningRegressor
from ._session import _CANCELLED


def _metrics(classes):
    """Names and keys of the metrics of a task."""
    count = ctypes.c_size_t()
    table = lib.kb_metric_table(count)
    rows = (table[k] for k in range(count.value))
    return {row.name: row.key.decode() for row in rows if bool(row.classes) == classes}


def _run(folds, rows, metrics, session, options, data):
    scores, raised = [], []
    fold_of, label = np.full(rows, -1), np.full(rows, np.nan)

    def take(_, fold):
        try:
            f = fold.contents
            row = np.ctypeslib.as_array(f.row, (f.rows,))
            found = np.empty(f.rows)
            lib.kb_model_label(f.model, f.rows, f.decision, found.ctypes.data)
            fold_of[row], label[row] = f.number, found
            scores.append([lib.kb_score_get(f.score, name) for name in metrics])
        except BaseException as error:  # told to the caller once the library has stopped
            raised.append(error)
            return _CANCELLED
        return 0

    try:
        session.work("kb_cross_validate", options, data, folds, FOLD(take), None)
    except Exception:
        if not raised:
            raise
    if raised:
        raise raised[0]
    return np.array(scores), fold_of, label


def cross_validate(
    estimator: BinningClassifier | BinningRegressor,
    X: Any,
    y: Any,
    *,
    folds: int = 5,
    sample_weight: Any = None,
    groups: Any = None,
) -> dict[str, Any]:
    """Scores of whole fits on folds, each tuned on its own rows alone.

    The rows are dealt as the parameter `split` says: the classes evenly, rows of one of `groups`
    together, and with ``split='time'`` each fold after the rows that it is learned from.  The
    parameter `budget` is for all folds together.  The estimator itself is not fitted.

    Returns
    -------
    dict
        ``scores``: an array with a number for each fold, for each metric; ``mean`` and
        ``deviation`` (the standard deviation over the folds) of each; ``fold``: for each row the
        fold that holds it out, or -1; ``prediction``: the prediction of each row by a model that
        has not seen it.

    Examples
    --------
    >>> import kerbin
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> found = kerbin.cross_validate(kerbin.BinningClassifier(sigma=0.5, tune="off"), X, y)
    >>> found["scores"]["accuracy"].shape
    (5,)
    >>> found["mean"]["accuracy"] > 0.95
    True
    """
    worker, classes = clone(estimator), isinstance(estimator, BinningClassifier)
    metrics = _metrics(classes)

    def learn(X, given=None, before=None, **about):
        given = dict(given or {})
        if about["groups"] is not None:
            given["split"] = "group:groups"
        work = functools.partial(_run, folds, X.shape[0], metrics)
        return worker._fit_model(X, given=given, work=work, **about)

    worker._learn = learn
    scores, fold_of, label = worker.fit(X, y, sample_weight=sample_weight, groups=groups)
    found = {key: scores[:, k] for k, key in enumerate(metrics.values())}
    found = {key: values for key, values in found.items() if not np.isnan(values).all()}
    prediction: Any = label
    if classes:
        held = fold_of >= 0
        prediction = np.empty(len(label), dtype=worker.classes_.dtype)
        prediction[held] = worker.classes_[np.searchsorted(worker._values, label[held])]
    return {
        "scores": found,
        "mean": {key: float(values.mean()) for key, values in found.items()},
        "deviation": {key: float(values.std(ddof=1)) for key, values in found.items()},
        "fold": fold_of,
        "prediction": prediction,
    }
