"""The examples run, and the README's lines are one of them."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs(path, tmp_path):
    if "matplotlib" in path.read_text():
        pytest.importorskip("matplotlib")
    done = subprocess.run(
        [sys.executable, path, tmp_path], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout
    if path.name == "tour.py":
        assert len(list(tmp_path.glob("*.png"))) == 4


def test_the_readme_shows_the_quickstart():
    code = (ROOT / "README.md").read_text().split("```python\n")[1].split("```")[0]
    shown = [line.rstrip() for line in code.splitlines() if line.strip()]
    source = (ROOT / "examples" / "quickstart.py").read_text().split('"""')[2]
    assert shown == [line.rstrip() for line in source.splitlines() if line.strip()]
