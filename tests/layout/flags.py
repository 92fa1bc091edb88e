"""Says where a string or a comment in src/ writes an option as the program does (--grids).

The library names an option by its id (src/options/say.h), and its caller says how users write it.
Two places may: the help of the options table, which the program prints, and say.h, which shows the
styles.

    flags.py SOURCE_DIRECTORY
"""

import pathlib
import re
import sys

TABLE = re.compile(r"^(?:static )?const kb_option_info \w+\[.*?^\};", re.S | re.M)
PIECE = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", re.S)
FLAG = re.compile(r"--[a-z][a-z-]*")


def flags(text):
    text = TABLE.sub(lambda table: "\n" * table[0].count("\n"), text)
    for piece in PIECE.finditer(text):
        for flag in FLAG.finditer(piece[0]):
            yield text.count("\n", 0, piece.start() + flag.start()) + 1, flag[0]


root = pathlib.Path(sys.argv[1]) / "src"
found = [
    f"src/{name}:{line}: {flag}"
    for path in sorted(root.rglob("*.[ch]"))
    if (name := path.relative_to(root).as_posix()) != "options/say.h"
    for line, flag in flags(path.read_text())
]
print("\n".join(found) or "no flags in src/")
sys.exit(bool(found))
