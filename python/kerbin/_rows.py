"""Decisions of single rows, without the checks and copies that many rows need."""

import threading
import weakref

import numpy as np

from ._library import lib
from ._session import Session


class _Row:
    """A kb_predictor of one thread, with room for its result."""

    def __init__(self, handle, outputs):
        self.handle = handle
        self.decision = np.empty(outputs)
        self.address = self.decision.ctypes.data
        weakref.finalize(self, lib.kb_predictor_free, handle)


class RowDecider:
    """For the rows of one model.  Made at the first row, since that takes time and memory."""

    def __init__(self, model):
        self._model = weakref.ref(model)
        self._outputs = model.info["outputs"]
        self._features = model.info["features"]
        self._own = threading.local()
        self._first = None

    def _create(self):
        with Session(n_jobs=1) as session:
            first, model = self._first, self._model()
            if first is None:
                handle = session.create("kb_predictor_create", model.handle)
            else:  # with its memory
                handle = session.create("kb_predictor_copy", first.handle)
        self._own.row = row = _Row(handle, self._outputs)
        if first is None:
            self._first = row
        return row

    def takes(self, X):
        """Whether X is one dense row of numbers as the library takes it."""
        return (
            type(X) is np.ndarray
            and X.shape == (1, self._features)
            and X.dtype == np.float64
            and X.flags.c_contiguous
        )

    def decide(self, X):
        """The decision, valid until the next call of this thread; None for the infinite."""
        row = getattr(self._own, "row", None) or self._create()
        if lib.kb_predictor_row(row.handle, X.ctypes.data, row.address):
            return None
        return row.decision
