"""Puts the pages of the site together: stage.py ROOT BUILD OUT.

The Markdown files of the repository are taken as they are, at their own places, so that their links
hold.  README.md is the first page.  A link to a file that is no page takes a copy of that file
along.  The rest is made: the gallery, the commands, and the references of C and Python.
"""

import inspect
import pathlib
import re
import shutil
import subprocess
import sys

import c_reference
import gallery

import kerbin

# The order of the pages; those that are not named here come under "More".
SECTIONS = {
    "Start": "docs/install docs/getting-started docs/how-to examples/index",
    "Guide": "docs/data-formats docs/tuning docs/predictions docs/explain docs/updates "
    "docs/python docs/scaling docs/gpu docs/experiments",
    "Reference": "reference/commands docs/options reference/python reference/c docs/model-format",
    "Results": "docs/accuracy docs/benchmarks docs/paper docs/rivals experiments/NOTES",
    "Method": "docs/theory",
    "Development": "CONTRIBUTING docs/design docs/extending docs/dependencies docs/security "
    "SECURITY CHANGELOG",
}
LINK = re.compile(r"(?<=\]\()([^)#:\s]+)(?=[)#])")
NAMED = re.compile(r"\[(?:docs/)?[\w-]+\.md\]\((?=[^)#]*\.md\))")  # it shows the title instead


def pages_of(root):
    found = [*root.glob("*.md"), *(root / "docs").glob("*.md"), *(root / "experiments").glob("*.md")]
    return sorted(path.relative_to(root) for path in found)


def place_of(target, root):
    """The page or file of the site for a linked file of the repository."""
    if target == pathlib.Path("README.md"):
        return pathlib.Path("index.md")
    if target.parts[:1] == ("examples",) and (root / target).suffix in ("", ".py"):
        return target.with_suffix(".md") if target.suffix else pathlib.Path("examples/index.md")
    if target == pathlib.Path("docs"):
        return pathlib.Path("index.md")
    return target


def stage_page(page, root, out):
    here = page.parent

    def link(found):
        target = pathlib.Path(*(root / here / found[1]).resolve().relative_to(root).parts)
        place = place_of(target, root)
        source = root / target
        if place == target and source.is_file() and source.suffix != ".md":
            (out / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, out / target)
        ups = len(here.parts)
        common = 0
        while common < ups and place.parts[common : common + 1] == here.parts[common : common + 1]:
            common += 1
        return "/".join([".."] * (ups - common) + list(place.parts[common:]))

    text = LINK.sub(link, (root / page).read_text())
    text = NAMED.sub("[](", text)
    place = out / place_of(page, root)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


def commands_page(program):
    """The help of each command, as the program prints it."""
    listed = subprocess.run([program, "help"], capture_output=True, text=True, check=True).stdout
    parts = ["# Commands", "", "What `kerbin help COMMAND` prints. [Options](../docs/options.md) has "
             "all options on one page.", "", f"```text\n{listed.strip()}\n```", ""]
    for name in re.findall(r"^  kerbin (\w+) ", listed, re.M):
        text = subprocess.run([program, "help", name], capture_output=True, text=True, check=True)
        parts += [f"## kerbin {name}", "", f"```text\n{text.stdout.strip()}\n```", ""]
    return "\n".join(parts)


def python_page():
    parts = ["Python interface", "================", "", inspect.getdoc(kerbin), ""]
    for name in kerbin.__all__:
        thing = getattr(kerbin, name)
        if not inspect.isclass(thing):
            parts += [f"{name}()", "-" * (len(name) + 2), "", f".. autofunction:: kerbin.{name}", ""]
            continue
        parts += [name, "-" * len(name), "", f".. autoclass:: kerbin.{name}", ""]
        for member, value in inspect.getmembers(thing, is_own):
            kind = "property" if isinstance(value, property) else "method"
            if not member.startswith("_"):
                parts += [f"   .. auto{kind}:: kerbin.{name}.{member}", ""]
    return "\n".join(parts)


def is_own(value):
    """A method or property with a docstring, of this package, not of scikit-learn."""
    function = value.fget if isinstance(value, property) else value
    function = inspect.unwrap(getattr(function, "__func__", function))
    return str(getattr(function, "__module__", "")).startswith("kerbin") and bool(function.__doc__)


def contents(out):
    named = " ".join(SECTIONS.values()).split()
    there = {str(path.relative_to(out).with_suffix("")) for path in out.rglob("*") if path.suffix in (".md", ".rst")}
    rest = sorted(name for name in there - set(named) - {"index"} if not name.startswith("examples/"))
    parts = []
    for caption, names in [*((c, n.split()) for c, n in SECTIONS.items()), ("More", rest)]:
        listed = [name for name in names if name in there]
        if listed:
            parts.append(f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(listed) + "\n```\n")
    return "\n" + "\n".join(parts)


def main():
    root, build, out = (pathlib.Path(path).resolve() for path in sys.argv[1:])
    out.mkdir(parents=True)
    for page in pages_of(root):
        stage_page(page, root, out)
    gallery.make(root, build, out / "examples")
    (out / "reference").mkdir()
    (out / "include").mkdir(exist_ok=True)
    shutil.copy(root / "include" / "kerbin.h", out / "include")
    (out / "reference" / "commands.md").write_text(commands_page(build / "kerbin"))
    (out / "reference" / "python.rst").write_text(python_page())
    header = (root / "include" / "kerbin.h").read_text()
    (out / "reference" / "c.rst").write_text(c_reference.reference(header))
    with open(out / "index.md", "a") as index:
        index.write(contents(out))


if __name__ == "__main__":
    main()
