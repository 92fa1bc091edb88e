"""A fitted model of the library, which pickles as the bytes of its file."""

import ctypes
import os
import weakref

import numpy as np

from ._library import (
    PUT,
    ColumnInfo,
    Compaction,
    Expected,
    Importance,
    Request,
    ValidationInfo,
    lib,
)
from ._rows import RowDecider
from ._session import Session

_LABEL, _DECISION, _PROBABILITY, _INTERVAL, _SET, _NOVELTY = range(6)  # kb_output


class Model:
    """Owns a kb_model.  Never changes, so copies may be the same object.

    `plain`: whether all columns, also those that were left out, are numbers.
    """

    def __init__(self, handle):
        self.handle = handle
        self.info = lib.kb_model_info(handle).contents.as_dict()
        self.info.update(lib.kb_model_cost(handle).contents.as_dict())
        self.plain = all(column["type"] == "number" for column in self.columns())
        self.rows = RowDecider(self)
        weakref.finalize(self, lib.kb_model_free, handle)

    @classmethod
    def read(cls, path, verify=True, copy=False):
        way = "_copied" if copy else "" if verify else "_trusted"
        name = "kb_model_read" + way
        with Session() as session:
            return cls(session.create(name, os.fsencode(path)))

    @classmethod
    def from_bytes(cls, content):
        with Session() as session:
            return cls(session.create("kb_model_read_bytes", content, len(content)))

    def write(self, path):
        with Session() as session:
            session.work("kb_model_write", self.handle, os.fsencode(path))

    def to_bytes(self):
        pieces = []

        def put(_, content, count):
            pieces.append(ctypes.string_at(content, count))
            return 0

        with Session() as session:
            session.call("kb_model_write_bytes", self.handle, PUT(put), None)
        return b"".join(pieces)

    def compacted(self, drop=0.0):
        """A compact model: this one where it is compact already."""
        if self.compaction():
            return self
        other = Model.from_bytes(self.to_bytes())
        with Session() as session:
            session.call("kb_model_compact", other.handle, drop)
        return other

    def compaction(self):
        """By how much decisions moved; None where the model is not compact."""
        told = Compaction()
        lib.kb_model_compaction(self.handle, told)
        names = "typical", "most", "dropped"
        return {name: getattr(told, name) for name in names} if told.compact else None

    def __reduce__(self):
        return Model.from_bytes, (self.to_bytes(),)

    def __deepcopy__(self, _):
        return self

    def class_values(self):
        count = self.info["classes"]
        return np.array([lib.kb_model_class(self.handle, k) for k in range(count)])

    def class_names(self):
        count = self.info["classes"]
        return [lib.kb_model_class_name(self.handle, k).decode() for k in range(count)]

    def feature_names(self):
        """Or None."""
        names = [lib.kb_model_feature_name(self.handle, j) for j in range(self.info["features"])]
        return None if None in names else [name.decode() for name in names]

    def columns(self):
        """The features, then the columns that were left out."""

        def told(function, count):
            for k in range(count):
                info = ColumnInfo()
                function(self.handle, k, info)
                yield info.as_dict()

        left_out = lib.kb_model_left_out(self.handle)
        yield from told(lib.kb_model_column, self.info["features"])
        yield from told(lib.kb_model_left_out_column, left_out)

    def places(self):
        """Of the features, among the columns of X."""
        info = ColumnInfo()
        for j in range(self.info["features"]):
            lib.kb_model_column(self.handle, j, info)
            yield info.place

    def trials(self):
        """The trials of the tuner; none in a model that was read."""
        count = ctypes.c_size_t()
        tried = lib.kb_model_trials(self.handle, count)
        chosen = lib.kb_model_chosen_trial(self.handle)
        return [{**tried[k].as_dict(), "chosen": k == chosen} for k in range(count.value)]

    def shortened(self):
        """What the option budget left out or made smaller."""
        count = ctypes.c_size_t()
        words = lib.kb_model_shortened(self.handle, count)
        return [words[k].decode() for k in range(count.value)]

    def expected(self):
        """What rows held out say about new ones; None where there were none."""
        told = Expected()
        lib.kb_model_expected(self.handle, told)
        if told.rows == 0:
            return None
        values = {name: getattr(told, name) for name, _ in Expected._fields_ if name != "size"}
        return {name: value for name, value in values.items() if value == value}

    def validation(self):
        """The rows held out, as arrays; None where there are none, as in a model that was read."""
        told = ValidationInfo()
        lib.kb_model_validation(self.handle, told)
        if told.rows == 0:
            return None

        def array(pointer, *shape):
            return np.ctypeslib.as_array(pointer, shape).copy() if pointer else None

        return {
            "row": array(told.row, told.rows),
            "decision": array(told.decision, told.rows, self.info["outputs"]),
            "label": array(told.label, told.rows),
            "weight": array(told.weight, told.rows),
            "known": array(told.known, told.rows),
        }

    def decide(self, session, data, rows):
        return self._predict(session, data, _DECISION, (rows, self.info["outputs"]))

    def label(self, session, data, rows):
        return self._predict(session, data, _LABEL, rows)

    def probability(self, session, data, rows):
        return self._predict(session, data, _PROBABILITY, (rows, self.info["classes"]))

    def interval(self, session, data, rows, coverage):
        """rows x 3: the value, and the ends of its interval."""
        return self._predict(session, data, _INTERVAL, (rows, 3), coverage)

    def set(self, session, data, rows, coverage):
        return self._predict(session, data, _SET, (rows, self.info["classes"]), coverage) > 0

    def novelty(self, session, data, rows):
        """rows x 2: the share of known bins, and the share of rows held out that know more."""
        return self._predict(session, data, _NOVELTY, (rows, 2))

    def _predict(self, session, data, what, shape, coverage=0.9):
        out = np.empty(shape)
        request = Request(what=what, coverage=coverage)
        session.work("kb_model_predict_as", self.handle, data, request, out.ctypes.data)
        return out

    def explain(self, session, data, rows, background, samples, seed):
        """Contributions and their standard errors, rows x features x outputs; and the base."""
        outputs = self.info["outputs"]
        out = np.empty((2, rows, self.info["features"], outputs))
        base = np.empty(outputs)
        session.work(
            "kb_model_explain",
            *(self.handle, data, background, samples, seed),
            *(out[0].ctypes.data, out[1].ctypes.data, base.ctypes.data),
        )
        return out[0], out[1], base

    def importance(self):
        """Drop of the score and its standard error for each feature; None if not measured."""
        told, count = Importance(), self.info["features"]
        if lib.kb_model_importance(self.handle, told) != 0:
            return None
        return np.array(told.drop[:count]), np.array(told.standard_error[:count])

    def fineness(self):
        """One number per feature."""
        out = np.empty(self.info["features"])
        with Session() as session:
            session.call("kb_model_fineness", self.handle, out.ctypes.data)
        return out

    def bins(self, session, data, rows):
        """rows x R columns of Z, or -1."""
        own = lib.kb_model_map(self.handle)
        out = np.empty((rows, lib.kb_map_grids(own)), dtype=np.int64)
        session.work("kb_map_apply", own, data, out.ctypes.data)
        return out

    def features(self, session, data, rows):
        """All of Z."""
        own = lib.kb_model_map(self.handle)
        out = np.empty((rows, lib.kb_map_bins(own)))
        session.work("kb_map_apply_dense", own, data, out.ctypes.data)
        return out

    def bins_known(self):
        return lib.kb_map_bins(lib.kb_model_map(self.handle))
