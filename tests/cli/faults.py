#!/usr/bin/env python3
"""The k-th call to the kernel fails, for every command and every k.

    faults.py KERBIN FAULTS_LIBRARY [SHARE]

Each command runs once without a fault, and then once for each of its calls to open, read, write,
fsync, rename, mmap, pthread_create and their like (tests/cli/faults.c), which fails.  Such a run
must end by itself with status 0, 1 or 2; with status 0 its output is that of the first run; else it
says why in one line, and the output is the old file or the new one, whole.  No temporary file is
left.  With SHARE only one of so many is tried.  Exit status 77: cannot be tried here.
"""
import collections
import os
import shutil
import subprocess
import sys
import tempfile

kerbin, library = (os.path.abspath(p) for p in sys.argv[1:3])
share = int(sys.argv[3]) if len(sys.argv) > 3 else 1
work = tempfile.mkdtemp()
os.chdir(work)
points, wrong = collections.Counter(), []


NONE = 10 ** 9  # no program calls so often


def run(arguments, fault=NONE):
    """Exit status, standard error, number of calls, name of the one that failed."""
    if os.path.exists("count"):
        os.remove("count")
    environment = dict(os.environ, LD_PRELOAD=library, KERBIN_FAULT=str(fault),
                       KERBIN_FAULT_COUNT=os.path.join(work, "count"),
                       ASAN_OPTIONS="verify_asan_link_order=0")
    done = subprocess.run([kerbin, *arguments], env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    try:
        with open("count", encoding="ascii") as file:
            calls, *name = file.read().split()
    except FileNotFoundError:
        calls, name = 0, []
    return done.returncode, done.stderr.decode(), int(calls), name[0] if name else ""


def content(path):
    if not os.path.exists(path):
        return None
    with open(path, "rb") as file:
        return file.read()


def same(path, a, b):
    """Models, results and pages have times in them."""
    if not path.endswith((".kerbin", ".csv", ".json", ".html")):
        return a == b
    if a is None or b is None:
        return a is b
    return abs(len(a) - len(b)) <= len(b) // 20 + 200


def check(arguments, outputs, old):
    """One command, with all its faults; `old`: whether the outputs are there before."""
    def prepare():
        for path in outputs:
            if os.path.exists(path):
                os.remove(path)
            if old:
                with open(path, "w", encoding="ascii") as file:
                    file.write("old\n")

    def note(fault, name, what):
        wrong.append(f"kerbin {' '.join(arguments)}: call {fault} ({name}): {what}")

    prepare()
    status, errors, calls, _ = run(arguments)
    if status != 0:
        sys.exit(f"kerbin {' '.join(arguments)}: {status}: {errors}")
    new = {path: content(path) for path in outputs}
    before = set(os.listdir("."))
    offset = len(points) % share
    for fault in range(1 + offset, calls + 1, share):
        prepare()
        status, errors, _, name = run(arguments, fault)
        points[name] += name != ""
        lines = errors.count("\n")
        if status not in (0, 1, 2):
            note(fault, name, f"status {status}: {errors}")
        if status != 0 and (lines != 1 or not errors.startswith("kerbin: ")):
            note(fault, name, f"not one line: {errors}")
        for path in outputs:
            got = content(path)
            is_new, is_old = same(path, got, new[path]), got == (b"old\n" if old else None)
            if status == 0 and not is_new or not is_new and not is_old:
                note(fault, name, f"status {status}, and {path} is neither old nor new")
        left = set(os.listdir(".")) - before
        if left:
            note(fault, name, f"left: {left}")
            for path in left:
                os.remove(path)


def main():
    if not os.path.exists(library):
        sys.exit(77)
    for name, seed in (("train.libsvm", "1"), ("test.libsvm", "2")):
        if run(["generate", "--rows", "300", "--seed", seed, "-o", name, "checkers"])[2] == 0:
            print("faults: nothing can be preloaded here")
            sys.exit(77)
    subprocess.run(["gzip", "-k", "train.libsvm"], check=True)
    with open("weights", "w", encoding="ascii") as file:
        file.write("1\n" * 300)
    small = ["-q", "--threads", "2", "--tune", "off", "--grids", "16"]
    run(["train", *small, "-o", "model.kerbin", "train.libsvm"])
    os.mkdir("results")
    run(["sweep", "-q", "--grids", "16", "--values", "1", "-o", "results/s.csv", "train.libsvm",
         "test.libsvm"])
    for old in (False, True):
        check(["train", *small, "--weights", "weights", "-o", "out.kerbin", "train.libsvm.gz"],
              ["out.kerbin"], old)
        check(["predict", "-q", "--threads", "2", "-o", "labels", "model.kerbin", "test.libsvm"],
              ["labels"], old)
        check(["features", "-q", "--from", "model.kerbin", "-o", "z", "test.libsvm"], ["z"], old)
        check(["generate", "--rows", "50", "-o", "made", "rings"], ["made"], old)
        check(["cv", *small, "--folds", "2", "-o", "out.csv", "train.libsvm"], ["out.csv"], old)
        check(["explain", "-q", "--samples", "4", "-o", "why.csv", "model.kerbin", "test.libsvm"],
              ["why.csv"], old)
        check(["report", "-q", "-o", "page.html", "results"], ["page.html"], old)
    check(["sweep", "-q", "--threads", "2", "--grids", "16", "--values", "1", "-o", "sweep.csv",
           "train.libsvm", "test.libsvm"], ["sweep.csv", "sweep.json"], False)
    check(["inspect", "model.kerbin"], [], False)


try:
    main()
finally:
    shutil.rmtree(work)
print(f"{sum(points.values())} calls failed: " +
      ", ".join(f"{count} {name}" for name, count in sorted(points.items())))
print("\n".join(wrong[:40]))
if wrong:
    sys.exit(f"{len(wrong)} wrong")
