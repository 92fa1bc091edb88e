#!/usr/bin/env python3
"""interrupts.py KERBIN [MOMENTS [NAME..]] - how long commands go on after Ctrl-C.

Each command is interrupted at random moments.  What counts is the time on the processor, with one
thread, from the signal to the end: it does not depend on what else the machine does.  Prints the
longest of each command, and fails where one is above the bar, was never interrupted, says something
else than that it was, or leaves a file behind.
"""
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time

BAR = 0.5  # seconds

# A folder is filled by these first.
DATA = [
    "generate checkers --rows 5000 -o small.libsvm",
    "generate friedman --rows 5000 -o regression.libsvm",
    "generate checkers --rows 50000 -o rows.libsvm",
    "generate friedman --rows 100000 -o rows.csv",
    "train --tune off --grids 64 -o model.kerbin small.libsvm",
    "train --tune off --grids 256 -o regression.kerbin regression.libsvm",
    "train --tune off --map exact -o exact.kerbin small.libsvm",
]
COMMANDS = {
    "cholesky": "train --tune off --map exact --lambda 0.01 -o out small.libsvm",
    "newton-exact": "train --tune off --map exact --loss logistic -o out small.libsvm",
    "nystrom": "train --tune off --map nystrom --grids 2000 -o out rows.libsvm",
    "kmeans": "train --tune off --map nystrom --grids 1000 --landmarks kmeans++ -o out rows.libsvm",
    "fourier": "train --tune off --map fourier --grids 2000 -o out rows.libsvm",
    "blocks": "train --tune off --map blocks --grids 1500 -o out rows.libsvm",
    "fourier-l1": "train --tune off --map fourier --grids 1500 --penalty l1 -o out small.libsvm",
    "binning": "train --tune off --grids 1024 -o out rows.libsvm",
    "sweeps": "train --tune off --grids 512 --solver sweeps --sigma 0.1 -o out rows.libsvm",
    "gmres": "train --tune off --grids 256 --solver gmres -o out rows.csv",
    "l1": "train --tune off --grids 256 --penalty l1 --loss logistic --lambda 0.01 -o out rows.libsvm",
    "cd": "train --tune off --grids 256 --penalty l1 --solver cd --lambda 0.01 -o out rows.libsvm",
    "logistic": "train --tune off --grids 256 --loss logistic --lambda 0.001 -o out rows.libsvm",
    "quantile": "train --tune off --grids 256 --loss quantile --quantile 0.9 -o out rows.csv",
    "tuned": "train -o out small.libsvm",
    "tuned-regression": "train -o out regression.libsvm",
    "tuned-rows": "train -o out rows.csv",
    "tuned-rival": "train --map nystrom --grids 500 -o out regression.libsvm",
    "probability": "train --tune off --probability on -o out rows.libsvm",
    "cv": "cv small.libsvm -o out",
    "predict": "predict -o out regression.kerbin rows.csv",
    "predict-exact": "predict -o out exact.kerbin rows.libsvm",
    "explain": "explain -o out regression.kerbin regression.libsvm",
    "features": "features --grids 256 -o out rows.libsvm",
    "generate": "generate rings --rows 5000000 -o out",
}


def kerbin(program, words, **more):
    return subprocess.Popen([program, *words.split(), "-q", *more.pop("extra", [])],
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}, **more)


def spent(pid):
    """Seconds on the processor so far."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def threads_of(words):
    return [] if words.startswith("generate") else ["--threads", "1"]


def whole(program, words):
    """The seconds on the processor of the whole command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = kerbin(program, words, extra=threads_of(words))
    run.communicate()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert run.returncode == 0, words
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def interrupt(program, words, moment):
    """Seconds from the signal to the end, or None where it was not in time; and what is wrong."""
    run = kerbin(program, words, extra=threads_of(words))
    while run.poll() is None and spent(run.pid) < moment:
        time.sleep(0.002)
    if run.poll() is not None:
        run.communicate()
        return None, None
    at = spent(run.pid)
    run.send_signal(signal.SIGINT)
    said = run.stderr.read()
    usage = os.wait4(run.pid, 0)
    run.returncode = 0  # it has been waited for
    took = usage[2].ru_utime + usage[2].ru_stime - at
    killed = os.WIFSIGNALED(usage[1]) and os.WTERMSIG(usage[1]) == signal.SIGINT
    if not killed and usage[1] == 0:
        return None, None
    if killed and not said and os.path.exists("out"):  # its work was done
        os.unlink("out")
        return None, None
    wrong = None
    if not killed or not said.endswith("kerbin: interrupted\n"):
        wrong = f"status {usage[1]}, said {said!r}"
    elif [name for name in os.listdir(".") if name.startswith("out")]:
        wrong = "left a file"
    return took, wrong


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program = os.path.realpath(sys.argv[1])
    moments = int(sys.argv[2]) if len(sys.argv) > 2 else 12
    draw, bad = random.Random(23), []
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for words in DATA:
            run = kerbin(program, words)
            run.communicate()
            assert run.returncode == 0, words
        for name, words in COMMANDS.items():
            if len(sys.argv) > 3 and name not in sys.argv[3:]:
                continue
            length = whole(program, words)
            if os.path.exists("out"):
                os.unlink("out")
            found = [interrupt(program, words, draw.uniform(0.02, 0.98) * length)
                     for _ in range(moments)]
            if os.path.exists("out"):
                os.unlink("out")
            times = [took for took, _ in found if took is not None]
            wrong = [what for _, what in found if what]
            most = max(times, default=0)
            print(f"{name:18} {length:7.2f} s in all; at most {most:5.2f} s after Ctrl-C, "
                  f"{len(times)} times", *wrong, flush=True)
            if wrong or most > BAR or not times:
                bad.append(name)
        os.chdir("/")
    if bad:
        sys.exit(f"FAILED: {' '.join(bad)}")


if __name__ == "__main__":
    main()
