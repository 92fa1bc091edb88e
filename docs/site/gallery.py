"""The gallery: runs each example and makes a page of its code, its output and its pictures."""

import os
import pathlib
import re
import shutil
import subprocess
import sys


class Failed(RuntimeError):
    """An example that did not run."""


def _run(command, folder, **more):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))}: {done.stderr or done.stdout}")
    return done.stdout.rstrip("\n")


def _fence(language, text):
    return f"```{language}\n{text.strip(chr(10))}\n```\n"


def _picture(name):
    return f"![{name.removesuffix('.png')}]({name})\n"


def _cells(code):
    """(is text, lines) of a script with cells `# %%`; one cell of code where it has none."""
    for cell in re.split(r"^# %%", code, flags=re.M):
        head, _, body = cell.partition("\n")
        if head.strip() == "[markdown]":
            yield True, "\n".join(re.sub(r"^# ?", "", line) for line in body.strip().splitlines())
        elif body.strip():
            yield False, body if head.strip() == "" else cell


def _python(path, out):
    folder = out / path.stem
    folder.mkdir()
    environment = {**os.environ, "MPLBACKEND": "agg"}
    shown = _run([sys.executable, path.resolve(), "."], folder, env=environment)
    pictures = sorted(file.name for file in folder.glob("*.png"))
    for name in pictures:
        shutil.move(folder / name, out / name)
    shutil.rmtree(folder)

    code = path.read_text()
    docstring = re.match(r'"""(.*?)"""\n', code, re.S)
    parts = []
    if docstring:
        title = docstring[1].strip().rstrip(".")
        title = title.split(":")[0]
        parts += [f"# {title}\n", docstring[1].strip() + "\n"]
        code = code[docstring.end() :]
    for is_text, cell in _cells(code):
        parts.append(cell + "\n" if is_text else _fence("python", cell))
        parts += [_picture(name) for name in pictures if not is_text and f'"{name}"' in cell]
    if shown:
        parts += ["It prints\n", _fence("text", shown)]
    return parts, pictures


def _c(path, out, root, build):
    folder = out / path.stem
    folder.mkdir()
    _run(
        [*os.environ.get("CC", "cc").split(), "-std=c17", f"-I{root / 'include'}", path.resolve()]
        + [str(build / "libkerbin.so"), f"-Wl,-rpath,{build}", "-lm", "-o", "example"],
        folder,
    )
    shown = _run(["./example"], folder)
    shutil.rmtree(folder)
    return ["# Train and predict in C\n", _fence("c", path.read_text()), "It prints\n",
            _fence("text", shown)], []


def make(root, build, out):
    """Pages and pictures in `out`, and index.md, which lists them."""
    out.mkdir(parents=True, exist_ok=True)
    index = ["# Gallery\n", "Every example is a file of `examples/`. The output and the pictures on "
             "these pages are from the run that made the site.\n"]
    names = []
    for path in sorted((root / "examples").glob("*.py")) + sorted((root / "examples").glob("*.c")):
        is_c = path.suffix == ".c"
        parts, pictures = _c(path, out, root, build) if is_c else _python(path, out)
        shutil.copy(path, out / path.name)
        title = parts[0].split("\n", 1)[0].removeprefix("# ").strip()
        parts.insert(1, f"The file is [{path.name}]({path.name}).\n")
        (out / f"{path.stem}.md").write_text("\n".join(parts))
        index.append(f"## [{title}]({path.stem}.md)\n")
        index += [f"[![{name.removesuffix('.png')}]({name})]({path.stem}.md)\n" for name in pictures[:2]]
        names.append(path.stem)
    index.append("```{toctree}\n:hidden:\n\n" + "\n".join(names) + "\n```\n")
    pathlib.Path(out / "index.md").write_text("\n".join(index))
