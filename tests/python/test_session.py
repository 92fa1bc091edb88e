"""Threads, progress, Ctrl-C, warnings."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings

import joblib
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import kerbin
from kerbin._session import threads_of


@pytest.fixture(scope="module")
def large():
    rng = np.random.default_rng(0)
    X = rng.random((20000, 10))
    return X, np.sin(20 * X).sum(axis=1)


def slow():
    """Some seconds of work in many steps."""
    return kerbin.BinningRegressor(grids=400, lambda_=1e-9, tol=1e-15, max_iter=100000, sigma=0.5)


def test_no_result_depends_on_n_jobs(waves):
    X, y = waves
    one, two, all_ = (kerbin.BinningRegressor(n_jobs=n).fit(X, y).predict(X) for n in (1, 2, -1))
    assert np.array_equal(one, two) and np.array_equal(one, all_)
    with pytest.raises(ValueError, match="n_jobs=0"):
        kerbin.BinningRegressor(n_jobs=0).fit(X, y)


def test_threads_follow_n_jobs_as_scikit_learn_does():
    processors = os.cpu_count()
    assert threads_of(3) == 3 and threads_of(-1) == processors
    assert threads_of(-processors - 7) == 1
    assert threads_of(None) == 1
    with joblib.parallel_config(n_jobs=2):
        assert threads_of(None) == 2


def test_progress_is_told_and_may_stop_the_work(large):
    X, y = large
    told = []
    model = kerbin.BinningRegressor(grids=50, progress=lambda *at: told.append(at)).fit(X, y)
    model.predict(X)
    assert {"bin", "solve", "predict"} <= {phase for phase, _ in told}
    assert all(done <= 1 for _, done in told)
    with pytest.raises(KeyboardInterrupt, match="interrupted"):
        slow().set_params(progress=lambda phase, done: phase == "solve").fit(X, y)


def test_fewer_grids_for_lack_of_memory_are_a_warning():
    X = np.random.default_rng(1).random((1500, 10))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3]
    with pytest.warns(UserWarning, match="too little memory for the .* the model gets"):
        kerbin.BinningRegressor(tune="on", widths="equal", max_memory="4M").fit(X, y)


def test_an_error_in_the_callback_comes_out(large):
    def fail(phase, done):
        raise RuntimeError("no more of this")

    with pytest.raises(RuntimeError, match="no more of this"):
        slow().set_params(progress=fail).fit(*large)


def test_a_fit_that_fails_leaves_no_older_model(large):
    X, y = large
    model = kerbin.BinningRegressor(grids=20, penalty="l1", lambda_path=3).fit(X[:100], y[:100])
    assert model.path_ and model.fit_info_
    with pytest.raises(ValueError):
        model.set_params(kernel="gauss").fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert not hasattr(model, "path_") and not hasattr(model, "fit_info_")


def test_bars_are_shown(large, capsys):
    pytest.importorskip("tqdm")
    kerbin.BinningRegressor(grids=50, verbose=True).fit(*large)
    assert "solve" in capsys.readouterr().err


def test_phases_are_told_without_tqdm(large, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    kerbin.BinningRegressor(grids=50, verbose=True).fit(*large)
    assert "kerbin: solve\n" in capsys.readouterr().err


def test_other_threads_run_meanwhile(large):
    """The lock of the interpreter is free: another thread counts while a fit runs in this one."""
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0.001)

    def in_thread():
        kerbin.BinningRegressor(grids=200).fit(*large)

    for fit in in_thread, lambda: _join(threading.Thread(target=in_thread)):
        counted[0] = 0
        stop.clear()
        counter = threading.Thread(target=count)
        counter.start()
        fit()
        stop.set()
        counter.join()
        assert counted[0] > 10


def _join(thread):
    thread.start()
    thread.join()


def test_fits_may_run_side_by_side(waves):
    X, y = waves
    want = kerbin.BinningRegressor().fit(X, y).predict(X)
    got = [None] * 4

    def fit(k):
        got[k] = kerbin.BinningRegressor(n_jobs=2).fit(X, y).predict(X)

    threads = [threading.Thread(target=fit, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(one, want) for one in got)


def test_ctrl_c_interrupts():
    script = """
        import numpy as np, kerbin, sys
        rng = np.random.default_rng(0)
        X = rng.random((20000, 10))
        told = lambda phase, done: print(phase, flush=True)
        model = kerbin.BinningRegressor(
            grids=400, lambda_=1e-9, tol=1e-15, max_iter=100000, sigma=0.5, progress=told)
        try:
            model.fit(X, np.sin(20 * X).sum(axis=1))
        except KeyboardInterrupt:
            print("stopped", hasattr(model, "fit_info_"))
            model.set_params(max_iter=5, progress=None).fit(X[:100], X[:100, 0])  # still alive
            sys.exit(7)
    """
    child = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script)],
        stdout=subprocess.PIPE,
        text=True,
        # A job in the background of a script ignores it, and so would its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    for line in child.stdout:
        if line == "solve\n":
            break
    child.send_signal(signal.SIGINT)
    rest, _ = child.communicate(timeout=60)
    assert child.returncode == 7
    assert rest.endswith("stopped False\n")


def test_ctrl_c_before_the_work_begins_it_never(large, monkeypatch):
    """The thread has been started when the signal comes; the library must not run in it."""
    start, phases = threading.Thread.start, []

    def interrupted(thread):
        start(thread)
        if thread.name == "kerbin":
            raise KeyboardInterrupt

    model = kerbin.BinningRegressor(grids=20, progress=lambda phase, done: phases.append(phase))
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.fit(*large)
    for thread in threading.enumerate():
        if thread.name == "kerbin":
            thread.join()
    assert not phases and not hasattr(model, "fit_info_")
    model.fit(*large)
    assert phases


def test_ctrl_c_while_waiting_is_told_once_the_library_has_stopped(large, monkeypatch):
    wait, waits = threading.Event.wait, []

    def interrupted(event, timeout=None):
        if threading.current_thread() is threading.main_thread():
            waits.append(event)
            if len(waits) == 2:  # the first is that of Thread.start
                raise KeyboardInterrupt
        return wait(event, timeout)

    model = slow()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Event, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.fit(*large)
    assert len(waits) == 3  # it was waited for the end
    assert not any(thread.name == "kerbin" for thread in threading.enumerate())
    assert not hasattr(model, "fit_info_")


def test_not_converged_is_a_warning(waves):
    X, y = waves
    with pytest.warns(ConvergenceWarning, match="not converged after 2 steps; raise max_iter") as told:
        model = kerbin.BinningRegressor(max_iter=2, lambda_=1e-6).fit(X, y)
    assert told[0].filename == __file__  # the caller's line
    assert model.n_iter_ == 2 and not model.fit_info_["converged"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kerbin.BinningRegressor().fit(X, y)


def test_a_path_tells_of_every_lambda(waves):
    X, y = waves
    model = kerbin.BinningRegressor(penalty="l1", lambda_path=6, lambda_=0.5).fit(X, y)
    lambdas = [point["lambda"] for point in model.path_]
    assert len(lambdas) == 6 and lambdas == sorted(lambdas, reverse=True)
    assert model.path_[0]["nonzeros"] == 0 and model.fit_info_["lambda"] == lambdas[-1] == 0.5


def test_a_fit_tells_what_it_tried(waves, tmp_path):
    X, y = waves
    model = kerbin.BinningRegressor(budget="1s").fit(X, y)
    assert model.trials_ and model.fit_info_["tune_seconds"] > 0
    assert model.tried_ is model.trials_ and sum(one["chosen"] for one in model.tried_) == 1
    assert not hasattr(kerbin.BinningRegressor(), "tried_")
    assert set(model.trials_[0]) == {
        *("widths", "loss", "sigma", "lambda", "grids", "steps", "error", "seconds", "chosen")
    }
    assert all(trial["error"] >= 0 and trial["grids"] > 0 for trial in model.trials_)
    assert model.fit_info_["linear_columns"] in (0, 1)
    model.save(tmp_path / "m.kerbin")
    back = kerbin.BinningRegressor.load(tmp_path / "m.kerbin")
    assert len(back.trials_) == len(model.trials_)
    assert [one["error"] for one in back.trials_] == [one["error"] for one in model.trials_]
    assert all(np.isnan(one["seconds"]) for one in back.trials_)
    assert back.fit_info_["tune_seconds"] == 0
    assert kerbin.BinningRegressor(tune="off").fit(X, y).trials_ == []
