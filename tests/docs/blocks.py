#!/usr/bin/env python3
"""Runs the commands of pages as a reader would type them.

    blocks.py SOURCE PROGRAM LIBRARY PAGE..

The blocks of each page that are marked sh or c run in order, in one new folder, with the program as
`kerbin`.  A block of C is compiled with a plain command, and runs.  Blocks of python are run by
tests/python.  What needs data from elsewhere stands in indented blocks, which are not run.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```(sh|c)\n(.*?)^```$", re.S | re.M)


def run(command, folder, environment):
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def check(page, folder, source, library, environment):
    """What went wrong on a page, or None."""
    blocks = list(BLOCK.finditer(page.read_text(encoding="utf-8")))
    if not blocks:
        return f"{page}: there are no blocks to run"
    for block in blocks:
        language, code = block.groups()
        line = page.read_text(encoding="utf-8").count("\n", 0, block.start()) + 1
        steps = [["bash", "-euo", "pipefail", "-c", code]]
        if language == "c":
            (folder / "block.c").write_text(code)
            compiler = os.environ.get("CC", "cc").split()
            search = [f"-I{source / 'include'}", f"-Wl,-rpath,{library.parent}"]
            steps = [[*compiler, *search, "block.c", str(library), "-o", "block"], ["./block"]]
        for step in steps:
            status, said = run(step, folder, environment)
            if status != 0:
                return f"{page}:{line}: exit status {status}\n{code}{said}"
    return None


def main():
    source, program, library, *pages = (pathlib.Path(path).resolve() for path in sys.argv[1:])
    failed = False
    for page in pages:
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "bin").mkdir()
            (folder / "bin" / "kerbin").symlink_to(program)
            (folder / "work").mkdir()
            environment = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
            wrong = check(page, folder / "work", source, library, environment)
        print(wrong or f"{page.name}: its blocks run")
        failed = failed or wrong is not None
    sys.exit(failed)


if __name__ == "__main__":
    main()
