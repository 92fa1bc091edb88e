"""The structures and numbers of kerbin.h that Python repeats: members, offsets, sizes."""

import ctypes
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from kerbin import _data, _handle, _library, _options, _session

HEADER = pathlib.Path(__file__).parents[2] / "include" / "kerbin.h"
MIRRORS = {
    "kb_ranks": _library.Ranks,
    "kb_context_config": _library.ContextConfig,
    "kb_option_info": _library.OptionInfo,
    "kb_arrays": _library.Arrays,
    "struct ArrowSchema": _library.ArrowSchema,
    "struct ArrowArray": _library.ArrowArray,
    "kb_arrow": _library.Arrow,
    "kb_column_info": _library.ColumnInfo,
    "kb_importance": _library.Importance,
    "kb_fit_info": _library.FitInfo,
    "kb_fit_cost": _library.FitCost,
    "kb_trial_info": _library.TrialInfo,
    "kb_score": _library.Score,
    "kb_metric_info": _library.MetricInfo,
    "kb_fold": _library.Fold,
    "kb_request": _library.Request,
    "kb_expected": _library.Expected,
    "kb_compaction": _library.Compaction,
    "kb_validation_info": _library.ValidationInfo,
}
NUMBERS = {
    "KB_STYLE_KEYWORD": _library.STYLE_KEYWORD,
    "KB_LOG_WARNING": _session._WARNING,
    "KB_ERR_ARGUMENT": _session._ARGUMENT,
    "KB_ERR_MEMORY": _session._MEMORY,
    "KB_ERR_IO": _session._IO,
    "KB_ERR_DATA": _session._DATA,
    "KB_ERR_MODEL": _session._MODEL,
    "KB_ERR_CANCELLED": _session._CANCELLED,
    "KB_VALUE_DOUBLE": _data._DOUBLE,
    "KB_VALUE_FLOAT": _data._FLOAT,
    "KB_OUTPUT_LABEL": _handle._LABEL,
    "KB_OUTPUT_DECISION": _handle._DECISION,
    "KB_OUTPUT_PROBABILITY": _handle._PROBABILITY,
    "KB_OUTPUT_INTERVAL": _handle._INTERVAL,
    "KB_OUTPUT_SET": _handle._SET,
    "KB_OUTPUT_NOVELTY": _handle._NOVELTY,
    "KB_COLUMN_CATEGORY": _data._CATEGORY,
    "KB_OPTION_INTEGER": _options._INTEGER,
    "KB_OPTION_REAL": _options._REAL,
    "KB_OPTION_CHOICE": _options._CHOICE,
    "KB_OPTION_TEXT": _options._TEXT,
    "KB_OPTION_FLAG": _options._FLAG,
}


def members_of(name):
    """In the order of the header."""
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.S)
    head = name if name.startswith("struct ") else f"typedef struct {name}"
    body = re.search(rf"\b{head} {{(.*?)}}", text, flags=re.S)[1]
    found = []
    for declaration in filter(None, map(str.strip, body.split(";"))):
        function = re.search(r"\(\*(\w+)\)", declaration)
        parts = [function[0]] if function else declaration.split(",")
        found += [re.search(r"(\w+)\W*$", part)[1] for part in parts]
    return found


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What a C compiler makes of the header."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if not compiler:
        pytest.skip("there is no C compiler")
    lines = []
    for name in MIRRORS:
        lines.append(f'printf("[\\"{name}\\", %zu, 0]", sizeof({name}));')
        for member in members_of(name):
            at = f"offsetof({name}, {member}), sizeof((({name} *)0)->{member})"
            lines.append(f'printf(",\\n[\\"{name}.{member}\\", %zu, %zu]", {at});')
        lines.append('printf(",\\n");')
    for name in NUMBERS:
        lines.append(f'printf("[\\"{name}\\", %d, 0],\\n", (int){name});')
    lines.append('printf("[\\"end\\", 0, 0]\\n");')
    folder = tmp_path_factory.mktemp("layout")
    source, program = folder / "layout.c", folder / "layout"
    body = "\n".join(lines)
    source.write_text(f"#include <kerbin.h>\n#include <stdio.h>\nint main(void) {{\n{body}\n}}\n")
    subprocess.run([compiler, f"-I{HEADER.parent}", source, "-o", program], check=True)
    done = subprocess.run([program], check=True, capture_output=True, text=True)
    return {name: (first, second) for name, first, second in json.loads(f"[{done.stdout}]")}


def test_every_structure_is_looked_at():
    own = {
        kind
        for kind in vars(_library).values()
        if isinstance(kind, type) and issubclass(kind, ctypes.Structure) and hasattr(kind, "_fields_")
    }
    assert own == set(MIRRORS.values())


@pytest.mark.parametrize("name", MIRRORS)
def test_members_lie_where_the_header_has_them(name, told):
    mirror = MIRRORS[name]
    assert [field[0] for field in mirror._fields_] == members_of(name)
    for member in members_of(name):
        field = getattr(mirror, member)
        assert (field.offset, field.size) == told[f"{name}.{member}"], member
    assert ctypes.sizeof(mirror) == told[name][0]


def test_numbers_are_those_of_the_header(told):
    assert {name: (number, 0) for name, number in NUMBERS.items()} == {
        name: told[name] for name in NUMBERS
    }
