"""The examples and the blocks of python of the first pages run; the README's is an example."""

import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGES = ["docs/getting-started.md", "docs/how-to.md"]


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


@pytest.mark.parametrize("page", PAGES)
def test_the_python_of_a_page_runs(page, tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.S | re.M)
    assert blocks
    for block in blocks:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", block],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout


def test_the_readme_shows_the_quickstart():
    code = (ROOT / "README.md").read_text().split("```python\n")[1].split("```")[0]
    shown = [line.rstrip() for line in code.splitlines() if line.strip()]
    source = (ROOT / "examples" / "quickstart.py").read_text().split('"""')[2]
    assert shown == [line.rstrip() for line in source.splitlines() if line.strip()]
