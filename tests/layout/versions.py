"""versions.py SOURCE PROGRAM - the version of kerbin.h is that of the program, and of each file
whose format demands a copy of it."""
import pathlib
import re
import subprocess
import sys

COPIES = {
    "CHANGELOG.md": r"^## ([\d.]+)",
    "CITATION.cff": r"^version: ([\d.]+)$",
    "debian/changelog": r"^kerbin \(([\d.]+)\)",
    "packaging/conda/recipe.yaml": r'^  version: "([\d.]+)"$',
}
# Places that read it from kerbin.h, where a copy would be one too many.
NO_COPY = ["CMakeLists.txt", "pyproject.toml", "python/kerbin/__init__.py", "Makefile"]


def main():
    root = pathlib.Path(sys.argv[1])
    header = (root / "include/kerbin.h").read_text()
    numbers = re.findall(r"#define KB_VERSION_(?:MAJOR|MINOR|PATCH)\s+(\d+)", header)
    assert len(numbers) == 3, numbers
    version, wrong = ".".join(numbers), []
    told = subprocess.check_output([sys.argv[2], "--version"], text=True)
    if version not in told.split():
        wrong.append(f"kerbin --version says {told.strip()}")
    for path, pattern in COPIES.items():
        first = re.search(pattern, (root / path).read_text(), re.M)
        if not first or first.group(1) != version:
            wrong.append(f"{path} says {first.group(1) if first else 'nothing'}")
    for path in NO_COPY:
        if version in (root / path).read_text():
            wrong.append(f"{path} has a copy of it")
    for line in wrong:
        print(f"the version is {version}, but {line}")
    return len(wrong) > 0


if __name__ == "__main__":
    sys.exit(main())
