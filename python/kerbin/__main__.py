"""`python -m kerbin`: the program that the package brings, as `kerbin` runs it."""

import importlib.metadata
import os
import shutil
import subprocess
import sys


def _program():
    """The program that was installed with this package, or the first one on the PATH."""
    names = "kerbin", "kerbin.exe"
    try:
        files = importlib.metadata.files("kerbin") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name in names and os.access(file.locate(), os.X_OK):
            return os.fspath(file.locate())
    return shutil.which("kerbin")


def main():
    program = _program()
    if program is None:
        sys.exit("kerbin: the program is not installed; pip install kerbin brings it")
    words = [program, *sys.argv[1:]]
    if os.name == "posix":
        os.execv(program, words)
    return subprocess.run(words).returncode


if __name__ == "__main__":
    sys.exit(main())
