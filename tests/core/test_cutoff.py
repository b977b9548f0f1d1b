"""Early end of large test runs."""

from threading import Event

from coder.core.values import Cutoff


def test_request_cuts_only_runs_in_progress() -> None:
    cutoff, changes = Cutoff(), list[bool]()
    cutoff.on_change = changes.append
    first, second = Event(), Event()
    assert not cutoff.request()
    with cutoff.offer(first):
        pass
    with cutoff.offer(second):
        assert cutoff.request()
        assert not cutoff.request()
    assert (first.is_set(), second.is_set()) == (False, True)
    assert changes == [True, False, True, False, False]


def test_request_ahead_cuts_what_begins_next() -> None:
    cutoff = Cutoff()
    assert not cutoff.request()
    assert cutoff.request(ahead=True)
    first, second = Event(), Event()
    with cutoff.offer(first):
        assert first.is_set()
    with cutoff.offer(second):
        assert not second.is_set()
