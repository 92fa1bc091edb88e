"""Calls into the library: threads, progress, Ctrl-C, errors and warnings."""

import ctypes
import os
import sys
import threading
import warnings

import joblib

from ._library import LOG, PROGRESS, STYLE_KEYWORD, ContextConfig, lib
from ._ranks import Group

_ARGUMENT, _MEMORY, _IO, _DATA, _MODEL, _CANCELLED = range(1, 7)
_ERRORS = {
    _ARGUMENT: ValueError,
    _MEMORY: MemoryError,
    _IO: OSError,
    _DATA: ValueError,
    _MODEL: ValueError,
    _CANCELLED: KeyboardInterrupt,
}
_WARNING = 1


def threads_of(n_jobs):
    """The library's number of threads, by scikit-learn's rule.

    None is 1, or what joblib.parallel_config says; below 0 counts from all processors.
    """
    if n_jobs is None:
        return joblib.effective_n_jobs(None)
    if n_jobs == 0:
        raise ValueError("n_jobs=0: must be above 0, or below 0 to count from all processors")
    processors = os.cpu_count() or 1
    return max(1, int(n_jobs) if n_jobs > 0 else processors + 1 + int(n_jobs))


class _Bar:
    """A tqdm bar for each phase; a line on standard error where there is no tqdm."""

    def __init__(self):
        try:
            from tqdm.auto import tqdm
        except ImportError:
            tqdm = None
        self.tqdm, self.bar, self.phase = tqdm, None, None

    def __call__(self, phase, done):
        if phase != self.phase:
            self.close()
            self.phase = phase
            if self.tqdm is None:
                print(f"kerbin: {phase}", file=sys.stderr)
            else:
                self.bar = self.tqdm(total=1.0, desc=phase, leave=False)
        if self.bar is not None and done >= self.bar.n:
            self.bar.update(done - self.bar.n)

    def close(self):
        if self.bar is not None:
            self.bar.close()
            self.bar = None


class Session:
    """A context of the library for the calls of one method.

    A long call from the main thread runs in a thread of its own, so that Ctrl-C can be heard: the
    library is asked to stop, has stopped when KeyboardInterrupt is raised, and leaves nothing
    half done.  ctypes lets go of the interpreter's lock meanwhile.
    """

    def __init__(self, n_jobs=None, progress=None, comm=None):
        """`comm`: the processes of mpi4py that work as one."""
        self._tell = _Bar() if progress is True else progress or None
        self._warnings, self._raised, self._stop = [], None, False
        self._group = None if comm is None else Group(comm)
        # The callbacks live as long as the context.
        self._config = ContextConfig(
            log=LOG(self._log),
            progress=PROGRESS(self._progress),
            threads=threads_of(n_jobs),
            option_style=STYLE_KEYWORD,
            ranks=None if comm is None else ctypes.pointer(self._group.ranks),
        )
        self._ctx = ctypes.c_void_p()
        if lib.kb_context_create(self._config, self._ctx):
            raise MemoryError("out of memory")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        lib.kb_context_free(self._ctx)
        if isinstance(self._tell, _Bar):
            self._tell.close()
        for line in self._warnings:
            warnings.warn(line, stacklevel=4)

    def _log(self, _, level, line):
        if level == _WARNING:
            self._warnings.append(line.decode(errors="replace"))

    def _progress(self, _, phase, done):
        if self._tell is not None and not self._stop:
            try:
                self._stop = bool(self._tell(phase.decode(), done))
            except BaseException as error:  # told to the caller once the library has stopped
                self._raised, self._stop = error, True
        return self._stop

    def call(self, name, *args):
        """A short call, with the context first."""
        self._check(getattr(lib, name)(self._ctx, *args))

    def create(self, name, *args):
        """The handle that a short call makes."""
        handle = ctypes.c_void_p()
        self.call(name, *args, handle)
        return handle

    def work(self, name, *args):
        """A call that may take long.  With ranks the caller's thread is the one that MPI knows."""
        if self._group is not None or threading.current_thread() is not threading.main_thread():
            return self.call(name, *args)
        function, status = getattr(lib, name), []
        begin, done = threading.Event(), threading.Event()

        def run():
            begin.wait()
            try:
                if not self._stop:
                    status.append(function(self._ctx, *args))
            finally:
                done.set()

        thread = threading.Thread(target=run, name="kerbin", daemon=True)
        # A signal's handler may raise an exception at any line.  Whoever gets it must not go on
        # while the library is at work, so nothing begins before the loop that waits for its end.
        try:
            thread.start()
        except BaseException:
            self._stop = True
            begin.set()
            raise
        while True:
            try:
                begin.set()
                done.wait()
                thread.join()
                break
            except BaseException as error:
                self._raised, self._stop = self._raised or error, True
        self._check(status[0] if status else _ARGUMENT)

    def _check(self, status):
        if self._group is not None and self._group.raised is not None:
            raise self._group.raised
        if self._raised is not None:
            raise self._raised
        if status:
            raise _ERRORS[status](lib.kb_context_message(self._ctx).decode(errors="replace"))
