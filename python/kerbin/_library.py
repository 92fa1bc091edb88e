"""The C library as ctypes sees it: the structures of kerbin.h and the functions that are used."""

import ctypes
import os
import pathlib
import sys
from ctypes import (
    POINTER,
    c_char_p,
    c_double,
    c_int,
    c_int64,
    c_size_t,
    c_ssize_t,
    c_uint32,
    c_uint64,
    c_void_p,
)

LOG = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p)
PROGRESS = ctypes.CFUNCTYPE(c_int, c_void_p, c_char_p, c_double)
SUM = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t)
GATHER = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, POINTER(c_size_t))
EXCHANGE = ctypes.CFUNCTYPE(
    c_int, c_void_p, c_void_p, POINTER(c_size_t), c_void_p, POINTER(c_size_t)
)
PUT = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t)


STYLE_KEYWORD = 2  # messages name an option as Python does


class _Sized(ctypes.Structure):
    """A structure that begins with its size."""

    def __init__(self, **members):
        super().__init__(size=ctypes.sizeof(self), **members)


class Ranks(_Sized):
    _fields_ = [
        ("size", c_size_t),
        ("rank", c_int),
        ("ranks", c_int),
        ("user", c_void_p),
        ("sum", SUM),
        ("gather", GATHER),
        ("exchange", EXCHANGE),
        ("write", c_void_p),
        ("nearby", c_int),
    ]


class ContextConfig(_Sized):
    _fields_ = [
        ("size", c_size_t),
        ("user", c_void_p),
        ("reallocate", c_void_p),
        ("log", LOG),
        ("progress", PROGRESS),
        ("threads", c_int),
        ("option_style", c_int),
        ("ranks", POINTER(Ranks)),
    ]


class OptionInfo(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("type", c_int),
        ("metavar", c_char_p),
        ("default_value", c_char_p),
        ("min", c_double),
        ("max", c_double),
        ("choices", c_char_p),
        ("help", c_char_p),
        ("group", c_char_p),
    ]


class Arrays(_Sized):
    _fields_ = [
        ("size", c_size_t),
        ("rows", c_size_t),
        ("features", c_size_t),
        ("type", c_int),
        ("values", c_void_p),
        ("row_step", c_ssize_t),
        ("column_step", c_ssize_t),
        ("row_start", c_void_p),
        ("columns", c_void_p),
        ("row_start_bytes", c_size_t),
        ("column_bytes", c_size_t),
        ("labels", c_void_p),
        ("weights", c_void_p),
        ("feature_names", POINTER(c_char_p)),
        ("class_names", POINTER(c_char_p)),
        ("classes", c_size_t),
        ("borrow", c_int),
        ("counted", c_int),
        ("entries", c_size_t),
    ]


class ArrowSchema(ctypes.Structure):
    pass


class ArrowArray(ctypes.Structure):
    pass


ArrowSchema._fields_ = [
    ("format", c_char_p),
    ("name", c_char_p),
    ("metadata", c_char_p),
    ("flags", c_int64),
    ("n_children", c_int64),
    ("children", POINTER(POINTER(ArrowSchema))),
    ("dictionary", POINTER(ArrowSchema)),
    ("release", ctypes.CFUNCTYPE(None, POINTER(ArrowSchema))),
    ("private_data", c_void_p),
]
ArrowArray._fields_ = [
    ("length", c_int64),
    ("null_count", c_int64),
    ("offset", c_int64),
    ("n_buffers", c_int64),
    ("n_children", c_int64),
    ("buffers", POINTER(c_void_p)),
    ("children", POINTER(POINTER(ArrowArray))),
    ("dictionary", POINTER(ArrowArray)),
    ("release", ctypes.CFUNCTYPE(None, POINTER(ArrowArray))),
    ("private_data", c_void_p),
]


class Arrow(_Sized):
    _fields_ = [
        ("size", c_size_t),
        ("schema", POINTER(ArrowSchema)),
        ("batch", POINTER(POINTER(ArrowArray))),
        ("batches", c_size_t),
        ("labels", c_void_p),
        ("weights", c_void_p),
        ("class_names", POINTER(c_char_p)),
        ("classes", c_size_t),
    ]


class ColumnInfo(_Sized):
    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("type", c_int),
        ("missing", c_size_t),
        ("levels", c_size_t),
        ("level", POINTER(c_char_p)),
        ("place", c_size_t),
    ]

    def as_dict(self):
        return {
            "name": None if self.name is None else self.name.decode(),
            "type": lib.kb_column_type_name(self.type).decode(),
            "levels": [self.level[k].decode() for k in range(self.levels)],
            "missing": self.missing,
        }


class Importance(_Sized):
    _fields_ = [
        ("size", c_size_t),
        ("rows", c_size_t),
        ("repeats", c_size_t),
        ("score", c_double),
        ("drop", POINTER(c_double)),
        ("standard_error", POINTER(c_double)),
    ]


class Request(_Sized):
    _fields_ = [("size", c_size_t), ("what", c_int), ("coverage", c_double)]


class Compaction(_Sized):
    _fields_ = [
        ("size", c_size_t),
        ("compact", c_int),
        ("typical", c_double),
        ("most", c_double),
        ("dropped", c_size_t),
    ]


class Expected(_Sized):
    _fields_ = [
        ("size", c_size_t),
        *((name, c_size_t) for name in "rows learned folds".split()),
        *((name, c_double) for name in "error error_low error_high log_loss".split()),
        *((name, c_double) for name in "rmse rmse_low rmse_high r2".split()),
    ]


class ValidationInfo(_Sized):
    _fields_ = [
        ("size", c_size_t),
        ("rows", c_size_t),
        ("row", POINTER(c_uint32)),
        *((name, POINTER(c_double)) for name in "decision label weight known".split()),
    ]


class _Told(ctypes.Structure):
    """A struct of the library; new members come at the end, so an older list stays valid."""

    _flags: tuple[str, ...] = ()

    def as_dict(self):
        values = ((name, getattr(self, name)) for name, *_ in self._fields_)
        found = {n: v.decode() if isinstance(v, bytes) else v for n, v in values}
        found.update((flag, bool(found[flag])) for flag in self._flags)
        return found


def _all(kind, names):
    return ((name, kind) for name in names.split())


class FitInfo(_Told):
    _flags = "intercept", "widths_differ", "converged"
    _fields_ = [
        *_all(c_char_p, "task loss penalty map kernel solver scale probability sigma_rule"),
        ("sigma", c_double),
        ("sigma_text", c_char_p),
        ("lambda", c_double),
        ("seed", c_uint64),
        ("intercept", c_int),
        ("widths_differ", c_int),
        *_all(c_size_t, "rows features classes outputs linear_columns grids bins"),
        *_all(c_size_t, "kept_grids kept_bins nonzeros"),
        ("kappa", c_double),
        ("steps", c_size_t),
        ("converged", c_int),
        *_all(c_double, "objective gap train_score"),
        ("directions", c_size_t),
        ("quantile", c_double),
        ("models", c_size_t),
    ]


class FitCost(_Told):
    _fields_ = [
        *_all(c_double, "tune_seconds bin_seconds solve_seconds"),
        *_all(c_size_t, "id_bytes forecast_bytes"),
        *_all(c_double, "encode_seconds importance_seconds sent_bytes solve_sent_bytes"),
    ]


class TrialInfo(_Told):
    _fields_ = [
        *_all(c_char_p, "widths loss"),
        *_all(c_double, "sigma lambda"),
        *_all(c_size_t, "grids steps"),
        *_all(c_double, "error seconds"),
    ]


class Score(_Sized):
    _fields_ = [
        ("size", c_size_t),
        *_all(c_double, "accuracy balanced_accuracy auc log_loss rmse relative_error r2"),
        *_all(c_double, "standard_error f1 brier mae pinball poisson_deviance"),
    ]


class MetricInfo(ctypes.Structure):
    _fields_ = [
        *_all(c_char_p, "name key words help"),
        *_all(c_int, "classes larger probabilities percent in_units"),
    ]


class Fold(ctypes.Structure):
    _fields_ = [
        *_all(c_size_t, "size number folds"),
        ("model", c_void_p),
        *_all(c_size_t, "learned rows"),
        ("row", POINTER(ctypes.c_uint32)),
        ("decision", c_void_p),
        ("score", Score),
    ]


FOLD = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(Fold))


# What each function takes; those in STATUS return a kb_status and are called by Session.call.
_STATUS = {
    "kb_context_create": [POINTER(ContextConfig), POINTER(c_void_p)],
    "kb_context_set_device": [c_void_p, c_char_p],
    "kb_options_create": [c_void_p, POINTER(c_void_p)],
    "kb_options_set": [c_void_p, c_void_p, c_char_p, c_char_p],
    "kb_data_from_arrays": [c_void_p, POINTER(Arrays), POINTER(c_void_p)],
    "kb_data_from_arrow": [c_void_p, c_void_p, POINTER(Arrow), c_void_p, POINTER(c_void_p)],
    "kb_data_column": [c_void_p, c_size_t, POINTER(ColumnInfo)],
    "kb_data_set_groups": [c_void_p, c_void_p, c_void_p],
    "kb_model_fit": [c_void_p, c_void_p, c_void_p, POINTER(c_void_p)],
    "kb_model_update": [c_void_p, c_void_p, c_void_p, c_void_p, POINTER(c_void_p)],
    "kb_model_refit": [c_void_p, c_void_p, c_void_p, c_void_p, POINTER(c_void_p)],
    "kb_cross_validate": [c_void_p, c_void_p, c_void_p, c_size_t, FOLD, c_void_p],
    "kb_path_fit": [c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, POINTER(c_void_p)],
    "kb_path_take": [c_void_p, c_size_t, POINTER(c_void_p)],
    "kb_data_deal": [c_void_p, c_void_p],
    "kb_model_write": [c_void_p, c_void_p, c_char_p],
    "kb_model_read": [c_void_p, c_char_p, POINTER(c_void_p)],
    "kb_model_read_trusted": [c_void_p, c_char_p, POINTER(c_void_p)],
    "kb_model_read_copied": [c_void_p, c_char_p, POINTER(c_void_p)],
    "kb_model_write_bytes": [c_void_p, c_void_p, PUT, c_void_p],
    "kb_model_read_bytes": [c_void_p, c_void_p, c_size_t, POINTER(c_void_p)],
    "kb_model_predict": [c_void_p, c_void_p, c_void_p, c_int, c_void_p],
    "kb_model_predict_as": [c_void_p, c_void_p, c_void_p, POINTER(Request), c_void_p],
    "kb_model_compact": [c_void_p, c_void_p, c_double],
    "kb_model_compaction": [c_void_p, POINTER(Compaction)],
    "kb_model_expected": [c_void_p, POINTER(Expected)],
    "kb_model_validation": [c_void_p, POINTER(ValidationInfo)],
    "kb_model_column": [c_void_p, c_size_t, POINTER(ColumnInfo)],
    "kb_model_left_out_column": [c_void_p, c_size_t, POINTER(ColumnInfo)],
    "kb_model_importance": [c_void_p, POINTER(Importance)],
    "kb_model_fineness": [c_void_p, c_void_p, c_void_p],
    "kb_model_explain": [
        *(c_void_p, c_void_p, c_void_p, c_void_p, c_size_t, c_uint64),
        *(c_void_p, c_void_p, c_void_p),
    ],
    "kb_predictor_create": [c_void_p, c_void_p, POINTER(c_void_p)],
    "kb_predictor_copy": [c_void_p, c_void_p, POINTER(c_void_p)],
    "kb_predictor_row": [c_void_p, c_void_p, c_void_p],
    "kb_map_apply": [c_void_p, c_void_p, c_void_p, c_void_p],
    "kb_map_apply_dense": [c_void_p, c_void_p, c_void_p, c_void_p],
}
_PLAIN = {
    "kb_version": (c_char_p, []),
    "kb_context_free": (None, [c_void_p]),
    "kb_context_message": (c_char_p, [c_void_p]),
    "kb_option_table": (POINTER(OptionInfo), [POINTER(c_size_t)]),
    "kb_options_free": (None, [c_void_p]),
    "kb_column_type_name": (c_char_p, [c_int]),
    "kb_data_free": (None, [c_void_p]),
    "kb_data_features": (c_size_t, [c_void_p]),
    "kb_path_count": (c_size_t, [c_void_p]),
    "kb_path_info": (POINTER(FitInfo), [c_void_p, c_size_t]),
    "kb_path_free": (None, [c_void_p]),
    "kb_model_free": (None, [c_void_p]),
    "kb_model_info": (POINTER(FitInfo), [c_void_p]),
    "kb_model_cost": (POINTER(FitCost), [c_void_p]),
    "kb_model_trials": (POINTER(TrialInfo), [c_void_p, POINTER(c_size_t)]),
    "kb_model_shortened": (POINTER(c_char_p), [c_void_p, POINTER(c_size_t)]),
    "kb_model_chosen_trial": (c_size_t, [c_void_p]),
    "kb_model_class": (c_double, [c_void_p, c_size_t]),
    "kb_model_class_name": (c_char_p, [c_void_p, c_size_t]),
    "kb_model_feature_name": (c_char_p, [c_void_p, c_size_t]),
    "kb_model_left_out": (c_size_t, [c_void_p]),
    "kb_predictor_free": (None, [c_void_p]),
    "kb_model_label": (None, [c_void_p, c_size_t, c_void_p, c_void_p]),
    "kb_metric_table": (POINTER(MetricInfo), [POINTER(c_size_t)]),
    "kb_score_get": (c_double, [POINTER(Score), c_char_p]),
    "kb_model_map": (c_void_p, [c_void_p]),
    "kb_map_grids": (c_size_t, [c_void_p]),
    "kb_map_bins": (c_size_t, [c_void_p]),
}


# What a wheel has inside, and what the system's linker finds.
_NAMES = {
    "darwin": ("libkerbin.dylib", "libkerbin.0.dylib"),
    "win32": ("kerbin.dll", "kerbin.dll"),
}


def _load():
    """The library that KERBIN_LIBRARY names, else the one beside this file, else the system's."""
    beside, system = _NAMES.get(sys.platform, ("libkerbin.so", "libkerbin.so.0"))
    path = pathlib.Path(__file__).with_name(beside)
    found = str(path) if path.exists() else system
    library = ctypes.CDLL(os.environ.get("KERBIN_LIBRARY") or found)
    plain = dict(_PLAIN)
    plain.update((name, (c_int, takes)) for name, takes in _STATUS.items())
    for name, (gives, takes) in plain.items():
        function = getattr(library, name)
        function.restype, function.argtypes = gives, takes
    return library


lib = _load()


def version():
    return lib.kb_version().decode()
