"""The time a candidate has: its own work counts, waiting counts less, an import not at all."""

import contextlib
import importlib
import sys
import time

import pytest

from attnbook.exercises import run

SLOW_LIBRARY = """
import time
end = time.thread_time() + 0.5
while time.thread_time() < end:
    pass
whole = True
"""


@contextlib.contextmanager
def by_thread(seconds, at_most=None):
    """The way it is done on Windows."""
    yield from run._limit_by_thread(at_most or seconds, sys._getframe(2))


WAYS = [by_thread]
if hasattr(run.signal, "setitimer"):
    WAYS.append(run.time_limit)


def work_for_ever():
    while True:
        pass


def wait_for_ever():
    while True:
        time.sleep(0.01)


def swallow_for_ever():
    while True:
        try:
            while True:
                pass
        except Exception:
            pass


@pytest.mark.parametrize("block", [work_for_ever, swallow_for_ever])
@pytest.mark.parametrize("limit", WAYS)
def test_work_without_end_is_stopped(limit, block):
    with pytest.raises(run.OutOfTime), limit(0.1):
        block()


@pytest.mark.parametrize("limit", WAYS)
def test_waiting_without_end_is_stopped(limit):
    with pytest.raises(run.OutOfTime), limit(0.05, 0.2):
        wait_for_ever()


@pytest.mark.parametrize("limit", WAYS)
def test_on_a_busy_machine_only_own_work_counts(limit):
    with limit(0.1, 5):
        time.sleep(0.4)


@pytest.mark.parametrize("limit", WAYS)
def test_an_import_is_never_cut_short_nor_counted(limit, tmp_path, monkeypatch):
    (tmp_path / "slow_library.py").write_text(SLOW_LIBRARY, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "slow_library", raising=False)
    with limit(0.1, 0.3 if limit is by_thread else 5):
        library = importlib.import_module("slow_library")
    assert library.whole
    sys.modules.pop("slow_library")


@pytest.mark.parametrize("limit", WAYS)
def test_a_limit_within_an_import_still_holds(limit, tmp_path, monkeypatch):
    """A notebook that is itself a module, say."""
    (tmp_path / "asks.py").write_text("ask()", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    def ask():
        with limit(0.1):
            work_for_ever()

    monkeypatch.setattr("builtins.ask", ask, raising=False)
    with pytest.raises(run.OutOfTime):
        importlib.import_module("asks")


def test_after_the_block_nothing_is_stopped():
    with run.time_limit(0.1):
        pass
    with by_thread(0.1):
        pass
    end = time.thread_time() + 0.3
    while time.thread_time() < end:
        pass
