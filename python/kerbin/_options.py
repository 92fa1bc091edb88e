"""Keyword arguments made from the library's table of options.

A row of the table becomes a parameter: dashes become underscores, a word that Python keeps for
itself gets one at its end (lambda_), and `seed` goes by scikit-learn's name, random_state.
Nothing here knows a default, a bound or a help text.
"""

import ctypes
import dataclasses
import inspect
import keyword
import numbers
import os
import re
import tempfile
import textwrap

import numpy as np

from ._library import lib

_INTEGER, _REAL, _CHOICE, _TEXT, _FLAG = range(5)
_TYPES = {_INTEGER: "int", _REAL: "float", _TEXT: "str", _FLAG: "bool"}
_RENAMED = {"seed": "random_state"}
# Options of group "data" that are not about files: which columns are used, and as what.
OF_COLUMNS = {"types", "ignore", "columns"}


@dataclasses.dataclass(frozen=True)
class Option:
    name: str  # as the library has it
    key: str  # as Python has it
    type: int
    default: object
    bounds: tuple
    choices: tuple
    help: str
    group: str

    def takes(self, value):
        """Whether the value is of the option's kind."""
        if value is None or self.type != _CHOICE:
            return value is not None
        return value in self.choices or (isinstance(value, bool) and "on" in self.choices)

    def text(self, value, files):
        """The value as the library reads it.  `files`: an ExitStack for what must be a file."""
        if isinstance(value, bool | np.bool_):
            return "on" if value else "off"
        if isinstance(value, numbers.Integral):
            return str(int(value))
        if isinstance(value, numbers.Real):
            return repr(float(value))
        if self.name in OF_COLUMNS and not isinstance(value, str):
            return self._list(value)
        if isinstance(value, np.ndarray | list | tuple):
            rows = np.atleast_1d(np.asarray(value, dtype=np.float64))
            lines = [",".join(map(repr, row.tolist())) for row in np.atleast_2d(rows)]
            return lines[0] if rows.ndim == 1 else "@" + temporary_file("\n".join(lines), files)
        return os.fspath(value) if isinstance(value, os.PathLike) else str(value)

    def _list(self, value):
        """Columns: names or numbers; or a dict with their types."""
        if isinstance(value, dict):
            items = [(str(name), f"={kind}") for name, kind in value.items()]
        else:
            items = [(str(name), "") for name in value]
        for name, _ in items:
            if "," in name:
                raise ValueError(f"{self.key}: write ? for the comma in the name {name!r}")
        return ",".join(name + kind for name, kind in items) or self.default or "none"

    def describe(self):
        kind = _TYPES.get(self.type) or "{" + ", ".join(map(repr, self.choices)) + "}"
        if self.type in (_INTEGER, _REAL):
            kind += " from {:.12g} to {:.12g}".format(*self.bounds)
            if isinstance(self.default, str):
                kind += f" or {self.default!r}"
        return f"{self.key} : {kind}, default={self.default!r}", self.help


def temporary_file(text, files):
    file = files.enter_context(tempfile.NamedTemporaryFile("w", encoding="utf-8"))
    file.write(text + "\n")
    file.flush()
    return file.name


def _key_of(name):
    key = _RENAMED.get(name, name.replace("-", "_"))
    return key + "_" if keyword.iskeyword(key) else key


def _default_of(kind, text):
    """As a Python value; text that is no number stays text."""
    if kind == _FLAG:
        return text == "on"
    if text == "none":
        return None
    for number in {_INTEGER: (int,), _REAL: (float,)}.get(kind, ()):
        try:
            return number(text)
        except ValueError:
            pass
    return text


def _read_table():
    count = ctypes.c_size_t()
    rows = lib.kb_option_table(count)
    options = []
    for row in rows[: count.value]:
        name, text = row.name.decode(), row.default_value.decode()
        options.append(
            Option(
                name=name,
                key=_key_of(name),
                type=row.type,
                # As in scikit-learn: None is no seed; the default of the table is used.
                default=None if name in _RENAMED else _default_of(row.type, text),
                bounds=(row.min, row.max),
                choices=tuple((row.choices or b"").decode().split("|")),
                help=row.help.decode(),
                group=row.group.decode(),
            )
        )
    # Help texts speak of options as the program does.
    keys = {option.name: option.key for option in options}
    spoken = re.compile("--(" + "|".join(sorted(keys, key=len, reverse=True)) + r")\b")
    return [
        dataclasses.replace(o, help=spoken.sub(lambda m: f"`{keys[m[1]]}`", o.help))
        for o in options
    ]


TABLE = _read_table()


# Parameters of Python's own: name, default, type, explanation.
_OWN = [
    (
        "n_jobs",
        None,
        "int",
        "Threads, as in scikit-learn: None is 1, unless `joblib.parallel_config` says otherwise; "
        "-1 is all processors, -2 all but one. No result depends on it, but for `solver` "
        "'parallel-cd'.",
    ),
    (
        "verbose",
        False,
        "bool",
        "True shows a bar for each phase: by tqdm if it is installed, else a line on standard "
        "error.",
    ),
    (
        "progress",
        None,
        "callable",
        "A function that is called with the phase's name and "
        "the part of it that is done, from 0 to 1 or below 0 where that is not known; it stops the "
        "work by returning True. It replaces `verbose`; True is the same as `verbose`.",
    ),
]


WARM_START = (
    "warm_start",
    False,
    "bool",
    "Another fit keeps the grids of the last one, takes its values for options at 'auto' instead of "
    "tuning them again, and starts from its weights. If parameters of the grids, the columns or "
    "the classes have changed, it only takes the values, which are in `fit_info_`.",
)


def _type_of_parameter(option):
    head, text = option.describe()
    if option.key == "random_state":
        head = f"{option.key} : int or RandomState, default=None"
        text += " None is the default seed of the library: the result is the same each time."
    return head, text


def _section(title, entries):
    """As numpydoc has it: (head, text) for each entry."""
    wrapped = (textwrap.fill(text, 88, break_on_hyphens=False) for _, text in entries)
    body = "\n".join(
        f"{head}\n{textwrap.indent(text, '    ')}" for (head, _), text in zip(entries, wrapped)
    )
    return f"{title}\n{'-' * len(title)}\n{body}"


def with_options(chosen, own=()):
    """Gives a class an __init__ with a parameter for each option that `chosen` takes.

    The function is made from source, as dataclasses does it, so that it has real parameters:
    scikit-learn looks at them, and so does help().
    """

    def decorate(cls):
        options = [option for option in TABLE if chosen(option)]
        extra = [*own, *_OWN]
        parameters = [(o.key, o.default) for o in options] + [(n, d) for n, d, *_ in extra]
        source = "def __init__(self, *, {}):\n{}".format(
            ", ".join(f"{key}={default!r}" for key, default in parameters),
            "".join(f"    self.{key} = {key}\n" for key, _ in parameters),
        )
        made = {}
        exec(source, {"__builtins__": {}}, made)
        cls.__init__ = made["__init__"]
        cls.__init__.__qualname__ = f"{cls.__qualname__}.__init__"
        cls.__init__.__module__ = cls.__module__
        cls._options = options
        entries = [_type_of_parameter(o) for o in options]
        entries += [(f"{n} : {kind}, default={d!r}", text) for n, d, kind, text in extra]
        told = [entry for part in cls.__mro__ for entry in vars(part).get("_attributes", ())]
        parts = [inspect.cleandoc(cls.__doc__), _section("Parameters", entries)]
        parts.append(_section("Attributes", told))
        if "_examples" in vars(cls):
            parts.append("Examples\n--------\n" + inspect.cleandoc(cls._examples))
        cls.__doc__ = "\n\n".join(parts) + "\n"
        return cls

    return decorate
