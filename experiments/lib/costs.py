"""Processes and what they cost, kept in a file of results, and tables of them in Markdown.

Peak memory of a process is at least that of the one that starts it: use no large arrays beside this."""

import json
import math
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time


def child(words, env=None):
    """Runs a program: what it printed, processor and wall seconds, peak memory in bytes."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.monotonic()
        process = subprocess.Popen([str(w) for w in words], stdout=out, stderr=err,
                                   env={**os.environ, **(env or {})})
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if process.returncode:
            raise SystemExit(f"{' '.join(map(str, words))}\n{err.read().decode().strip()}")
        return {"printed": out.read().decode(), "cpu": usage.ru_utime + usage.ru_stime, "wall": wall,
                "memory": 1024 * usage.ru_maxrss}


def processor():
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


class Log:
    """The runs that are done, in a file: by their key, the numbers and texts that they gave."""

    def __init__(self, path, machine):
        self.path, self.machine = pathlib.Path(path), {
            "cpu": processor(), "cores": os.cpu_count(), "system": platform.platform(), **machine}
        self.runs = json.loads(self.path.read_text())["runs"] if self.path.exists() else {}

    def run(self, key, work):
        """The result of the key; if there is none, that of work()."""
        key = ", ".join(map(str, key))
        if key not in self.runs:
            result = self.runs[key] = work()
            part = self.path.with_suffix(".part")
            part.write_text(json.dumps({"machine": self.machine, "runs": self.runs}, indent=1) + "\n")
            os.replace(part, self.path)
            told = [f"{k} {v:.6g}" for k, v in result.items() if isinstance(v, (int, float))]
            print(f"{key}: {', '.join(told)}", file=sys.stderr, flush=True)
        return self.runs[key]

    def best(self, key, work, most=3, seconds=15):
        """The run of least wall time, of as many as fit in some seconds."""
        def several():
            runs = [work()]
            while len(runs) < most and sum(run["wall"] for run in runs) < seconds:
                runs.append(work())
            return min(runs, key=lambda run: run["wall"])

        return self.run(key, several)


def table(title, head, lines):
    print(f"\n### {title}\n\n| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for line in lines:
        print("| " + " | ".join("-" if cell is None else cell if isinstance(cell, str)
                                else f"{cell:.4g}" if abs(cell) < 1000 else f"{cell:.0f}"
                                for cell in line) + " |", flush=True)


def ratio(a, b, what):
    return a[what] / b[what] if a and b else None


def mean(runs, what):
    return statistics.mean(run[what] for run in runs) if runs and None not in runs else None


def geometric(values):
    return math.exp(statistics.mean(math.log(v) for v in values)) if values else None


def slope(xs, ys):
    """Of the straight line through the logarithms."""
    x, y = [math.log(v) for v in xs], [math.log(v) for v in ys]
    mx, my = statistics.mean(x), statistics.mean(y)
    return sum((a - mx) * (b - my) for a, b in zip(x, y)) / sum((a - mx) ** 2 for a in x)
