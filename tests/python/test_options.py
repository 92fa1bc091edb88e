"""Parameters come from the library's table, and only from there."""

import inspect
import re

import numpy as np
import pytest

import kerbin
from kerbin._options import TABLE


def test_every_option_of_train_is_a_parameter(program):
    """As the program's own reference lists them."""
    reference = program("help", "--markdown")
    of_numbers = inspect.signature(kerbin.BinningRegressor).parameters
    parameters = {**of_numbers, **inspect.signature(kerbin.BinningClassifier).parameters}
    for title in "Kernel", "Learning", "Random numbers", "Memory":
        section = reference.split(f"## {title}\n")[1].split("\n## ")[0]
        default = r"(?: \((?:[^()]*;\s+)?default ([^)]*)\))?"  # behind the words, perhaps wrapped
        found = re.findall(r"^- `--([a-z-]+)[^`]*`" + default, section, re.M)
        rows = [(name, default or "off") for name, default in found]
        assert rows and len(rows) == section.count("\n- `--")
        for name, default in rows:
            key = {"lambda": "lambda_", "seed": "random_state"}.get(name, name.replace("-", "_"))
            if name == "task":
                continue  # it is the class
            assert parameters[key].kind is inspect.Parameter.KEYWORD_ONLY
            if key != "random_state" and parameters[key].default not in (None, False):
                number = isinstance(parameters[key].default, int | float)
                want = type(parameters[key].default)(default) if number else default
                assert parameters[key].default == want


def test_the_help_is_the_librarys():
    text = " ".join(inspect.getdoc(kerbin.BinningClassifier).split())
    for option in TABLE:
        if option.key in inspect.signature(kerbin.BinningClassifier).parameters:
            assert option.help in text
    assert "lambda_ : float from 1e-12 to 1e+12 or 'auto', default='auto'" in text
    assert "--" not in re.sub("-{8,}", "", text)
    assert text.index("Parameters ----------") < text.index("Attributes ----------")


def test_a_regressor_has_no_options_of_classes():
    parameters = inspect.signature(kerbin.BinningRegressor).parameters
    assert not {"multiclass", "class_weight", "probability", "task"} & set(parameters)
    assert "landmarks" in inspect.signature(kerbin.NystromFeatures).parameters
    assert "landmarks" not in inspect.signature(kerbin.FourierFeatures).parameters


def test_a_new_row_of_the_table_becomes_a_parameter(monkeypatch):
    import dataclasses

    from kerbin import _options

    grown = dataclasses.replace(TABLE[-1], name="new-one", key="new_one", default="auto", group="x")
    monkeypatch.setattr(_options, "TABLE", [*TABLE, grown])

    @_options.with_options(lambda option: option.group == "x")
    class Grown:
        """A class."""

    assert Grown(new_one=3).new_one == 3
    assert Grown().new_one == "auto"
    assert "new_one : " in Grown.__doc__
    with pytest.raises(TypeError, match="unexpected keyword"):
        Grown(newone=3)


@pytest.mark.parametrize(
    "wrong, sentence",
    [
        ({"grids": 0}, "grids=0: must be a whole number from 1 to 1000000"),
        ({"lambda_": -1.0}, "lambda_=-1.0: must be"),
        ({"loss": "hinge"}, "loss='hinge': must be one of auto, square, logistic, squared-hinge"),
        ({"sigma": [1, 2]}, "sigma"),
        ({"map": "binning", "kernel": "gauss"}, "kernel='gauss': is isotropic"),
        ({"max_memory": "1K"}, "memory"),
    ],
)
def test_a_wrong_value_gets_the_librarys_sentence(wrong, sentence, waves):
    X, y = waves
    error = MemoryError if "max_memory" in wrong else ValueError
    with pytest.raises(error, match=re.escape(sentence)):
        kerbin.BinningRegressor(**wrong).fit(X, y)


def test_values_may_be_of_pythons_types(waves, tmp_path):
    X, y = waves
    same = [
        [{"sigma": [0.5, 1, 2]}, {"sigma": "0.5,1,2"}, {"sigma": np.array([0.5, 1, 2])}],
        [{"penalty": "l1", "group_grids": True}, {"penalty": "l1", "group_grids": "on"}],
        [{"intercept": False}, {"intercept": "off"}],
        [{"grids": np.int64(64)}, {"grids": 64}, {"grids": "64"}],
        [{}, {"random_state": None}, {"random_state": 1}],
        [{"sigma": [[0.5, 1, 2], [1, 1, 1]]}, {"sigma": f"@{tmp_path / 'mixture'}"}],
    ]
    (tmp_path / "mixture").write_text("0.5,1,2\n1,1,1\n")
    for group in same:
        first, *others = (kerbin.BinningRegressor(tune="off", **p).fit(X, y).predict(X) for p in group)
        for other in others:
            assert np.array_equal(first, other)


def test_a_random_state_may_be_a_generator(waves):
    X, y = waves
    a, b, c = (
        kerbin.BinningRegressor(tune="off", random_state=np.random.RandomState(seed)).fit(X, y).predict(X)
        for seed in (5, 5, 6)
    )
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)
