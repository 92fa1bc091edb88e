"""A fitted model of the library, which pickles as the bytes of its file."""

import ctypes
import os
import weakref

import numpy as np

from ._library import PUT, lib
from ._session import Session


class Model:
    """Owns a kb_model.  Never changes, so copies may be the same object."""

    def __init__(self, handle):
        self.handle = handle
        self.info = lib.kb_model_info(handle).contents.as_dict()
        weakref.finalize(self, lib.kb_model_free, handle)

    @classmethod
    def read(cls, path):
        with Session() as session:
            return cls(session.create("kb_model_read", os.fsencode(path)))

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

    def decide(self, session, data, rows):
        out = np.empty((rows, self.info["outputs"]))
        session.work("kb_model_decide", self.handle, data, out.ctypes.data)
        return out

    def label(self, decision):
        out = np.empty(len(decision))
        lib.kb_model_label(self.handle, len(out), decision.ctypes.data, out.ctypes.data)
        return out

    def probability(self, session, decision):
        out = np.empty((len(decision), self.info["classes"]))
        where = decision.ctypes.data, out.ctypes.data
        session.call("kb_model_probability", self.handle, len(out), *where)
        return out

    def importance(self):
        """One number a feature."""
        out = np.empty(self.info["features"])
        with Session() as session:
            session.call("kb_model_importance", self.handle, out.ctypes.data)
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

    def columns(self):
        return lib.kb_map_bins(lib.kb_model_map(self.handle))
