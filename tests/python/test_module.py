"""`python -m kerbin` runs the program that the package brings."""

import subprocess
import sys

import kerbin


def run(*words):
    return subprocess.run(
        [sys.executable, "-m", "kerbin", *words], capture_output=True, text=True, check=False
    )


def test_the_module_is_the_program_of_the_same_version():
    done = run("--version")
    assert done.stdout == f"kerbin {kerbin.__version__}\n"
    assert done.returncode == 0


def test_the_module_gives_the_exit_status_and_messages_of_the_program():
    done = run("nonsense")
    assert done.returncode == 2
    assert done.stderr.startswith("kerbin: unknown command 'nonsense'")
