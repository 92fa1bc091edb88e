#!/usr/bin/env python3
"""Kills a rank, or mpirun as Ctrl-C does, at random moments.

    kills.py KERBIN KERBIN_MPI MPIRUN TIMES predict|train

All ranks must be gone within five seconds, with an exit status that is not 0; the old output must be there, or
the whole new one; and temporary files must not pile up: the next run removes what a killed one has left.
The moments begin when MPI has started (docs/scaling.md).
"""
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

KERBIN, KERBIN_MPI, MPIRUN, TIMES, WORK = sys.argv[1:4] + [int(sys.argv[4]), sys.argv[5]]
VERSION = subprocess.run([MPIRUN, "--version"], stdout=subprocess.PIPE, check=False).stdout.lower()
FLAGS = [] if b"hydra" in VERSION else ["--oversubscribe", "--allow-run-as-root", "-q"]
MPI = [MPIRUN] + FLAGS + ["-n", "3", KERBIN_MPI]
COMMANDS = {"predict": ["predict", "--threads", "1", "model.kerbin", "rows.csv", "-o", "out"],
            "train": ["train", "--tune=off", "--solver", "sweeps", "--grids", "64", "--threads", "1", "-q",
                      "rows.csv", "-o", "out"]}
ROWS = {"predict": "150000", "train": "20000"}
RANKS, LIMIT = 3, 5.0
OLD = b"old\n"
failures = 0


def fail(what):
    global failures
    failures += 1
    print("FAILED:", what)


def ranks_of(ancestor):
    """Processes of kerbin-mpi below a process, or below one of its own."""
    found, parent_of = [], {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8") as file:
                fields = file.read().rsplit(")", 1)[1].split()
            parent_of[int(entry)] = int(fields[1])
            name = os.readlink(f"/proc/{entry}/exe")
        except OSError:
            continue
        if name == os.path.realpath(KERBIN_MPI) and fields[0] != "Z":
            found.append(int(entry))
    near = {ancestor} | {pid for pid, parent in parent_of.items() if parent == ancestor}
    return sorted(pid for pid in found if parent_of[pid] in near)


def alive(pids):
    return [pid for pid in pids if os.path.exists(f"/proc/{pid}")]


def run(arguments, **more):
    return subprocess.run(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, **more)


def kill_once(command, output, times, choose):
    """Starts the command, kills after a random time; True if it was still at work."""
    with open(output, "wb") as file:
        file.write(OLD)
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
    pids = []
    deadline = time.monotonic() + 30
    while len(pids) < RANKS and child.poll() is None and time.monotonic() < deadline:
        pids = ranks_of(child.pid)
        time.sleep(0.005)
    time.sleep(random.uniform(*times))
    busy = len(alive(pids)) == RANKS
    victim, number = choose(child.pid, pids)
    killed = time.monotonic()
    try:
        os.kill(victim, number)
    except ProcessLookupError:
        busy = False
    try:
        child.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        fail("mpirun does not end")
        child.kill()
    while alive(pids) and time.monotonic() < killed + 60:
        time.sleep(0.01)
    took = time.monotonic() - killed
    if busy and took > LIMIT:
        fail(f"all ranks were gone after {took:.1f} s only")
    return busy, child.returncode, took


def main():
    random.seed(24)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        run([KERBIN, "generate", "checkers", "--rows", ROWS[WORK], "-o", "rows.csv"])
        run([KERBIN, "generate", "checkers", "--rows", "2000", "-o", "few.csv"])
        run([KERBIN, "train", "--tune", "off", "--grids", "300", "few.csv", "-o", "model.kerbin"])
        command = MPI + COMMANDS[WORK]
        begun = time.monotonic()
        if run(command).returncode != 0:
            sys.exit(f"FAILED: kerbin-mpi {WORK} does not work")
        longest = time.monotonic() - begun
        begun = time.monotonic()
        run(MPI + ["--version"])
        started = min(time.monotonic() - begun, longest / 2)
        with open("out", "rb") as file:
            new = file.read()
        kinds = {"a rank": lambda parent, pids: (random.choice(pids or [parent]), signal.SIGKILL),
                 "mpirun, by Ctrl-C": lambda parent, pids: (parent, signal.SIGINT)}
        worst = busy_runs = 0
        for k in range(TIMES):
            kind = "a rank" if k % 4 < 3 else "mpirun, by Ctrl-C"
            busy, status, took = kill_once(command, "out", (started, longest), kinds[kind])
            with open("out", "rb") as file:
                got = file.read()
            if got not in (OLD, new):
                fail(f"half a file, after {kind} was killed")
            if busy and status == 0 and got != new:
                fail(f"status 0 after {kind} was killed")
            left = [name for name in os.listdir(".") if name.startswith("out") and name != "out"]
            if len(left) > 1:
                fail(f"temporary files pile up: {left}")
            worst = max(worst, took if busy else 0)
            busy_runs += busy
        if run(command).returncode != 0:
            fail("the run after the killed ones")
        left = sorted(os.listdir("."))
        if left != ["few.csv", "model.kerbin", "out", "rows.csv"]:
            fail(f"files are left: {left}")
        print(f"{WORK}: {TIMES} runs of {longest:.1f} s, {busy_runs} killed at work; gone after {worst:.2f} s at most")
        os.chdir("/")
    sys.exit(failures > 0)


main()
