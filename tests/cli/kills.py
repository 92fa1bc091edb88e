#!/usr/bin/env python3
"""Programs are killed at random moments: the output is old or new, and the next run leaves nothing.

    kills.py KERBIN COUNT [SEED]

train, predict, report and sweep are killed COUNT times each (SIGKILL), between their start and
somewhat after their end.  After each the output is the old file or the new one, whole, or not there;
after one more run that is let be, no temporary file is there either.
"""
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

kerbin, count = os.path.abspath(sys.argv[1]), int(sys.argv[2])
draw = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
work = tempfile.mkdtemp()
os.chdir(work)
wrong = []


def start(arguments):
    return subprocess.Popen([kerbin, *arguments], stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def run(arguments):
    process = start(arguments)
    errors = process.communicate()[1].decode()
    if process.returncode != 0:
        sys.exit(f"kerbin {' '.join(arguments)}: {process.returncode}: {errors}")


def read(path):
    with open(path, "rb") as file:
        return file.read()


def whole(path):
    """Whether a new file is whole, by what must be at its end or in it."""
    if path.endswith(".kerbin"):
        return subprocess.run([kerbin, "inspect", "-q", path], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False).returncode == 0
    text = read(path)
    if path.endswith(".html"):
        return text.rstrip().endswith(b"</html>")
    if path.endswith(".json"):
        return text.rstrip().endswith(b"}")
    return text.endswith(b"\n")


def check(name, arguments, outputs, keeps):
    """keeps: the file of a killed run is where the next one goes on."""
    run(arguments)
    begin = time.monotonic()
    for path in outputs if keeps else []:
        os.remove(path)
    run(arguments)
    seconds = time.monotonic() - begin
    files = set(os.listdir("."))
    killed = left = 0
    for _ in range(count):
        for path in outputs:
            if keeps:
                if os.path.exists(path):
                    os.remove(path)
            else:
                with open(path, "w", encoding="ascii") as file:
                    file.write("old\n")
        process = start(arguments)
        time.sleep(draw.uniform(0, 1.1) * seconds)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        killed += process.returncode == -signal.SIGKILL
        left += len(set(os.listdir(".")) - files)
        for path in outputs:
            if os.path.exists(path) and read(path) != b"old\n" and not whole(path):
                wrong.append(f"{name}: {path} is neither old nor new")
    run(arguments)
    more = set(os.listdir(".")) - files
    if more:
        wrong.append(f"{name}: left after the next run: {more}")
        for path in more:
            os.remove(path)
    for path in outputs:
        if not whole(path):
            wrong.append(f"{name}: the last run did not write {path}")
    print(f"{name}: {killed} of {count} killed, {left} files left in between, {seconds:.2f} s a run")


try:
    for data, seed in (("train.libsvm", "1"), ("test.libsvm", "2")):
        run(["generate", "--rows", "3000", "--seed", seed, "-o", data, "checkers"])
    run(["train", "-q", "--tune", "off", "-o", "model.kerbin", "train.libsvm"])
    os.mkdir("results")
    run(["sweep", "-q", "--values", "0.5,1", "-o", "results/s.csv", "train.libsvm", "test.libsvm"])
    check("train", ["train", "-q", "--tune", "off", "-o", "out.kerbin", "train.libsvm"],
          ["out.kerbin"], False)
    check("predict", ["predict", "-q", "-o", "labels", "model.kerbin", "test.libsvm"], ["labels"],
          False)
    check("report", ["report", "-q", "-o", "page.html", "results"], ["page.html"], False)
    check("sweep", ["sweep", "-q", "--values", "0.5,1,2", "-o", "s.csv", "train.libsvm",
                    "test.libsvm"], ["s.csv", "s.json"], True)
finally:
    shutil.rmtree(work)
print("\n".join(wrong[:20]))
if wrong:
    sys.exit(f"{len(wrong)} wrong")
