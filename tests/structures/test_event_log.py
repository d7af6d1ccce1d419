"""Event logs: nothing is admitted twice, whatever was forgotten; slices and bounds against plain lists."""

from hypothesis import given
from hypothesis import strategies as st

from treecast.core import Event, EventId, Topic
from treecast.structures.event_log import EventLog, Past

ids = st.builds(EventId, st.integers(0, 3), st.integers(1, 12))
histories = st.lists(ids, max_size=60)


def event(each: EventId) -> Event:
    return Event(each, Topic("t"), frozenset(), b"")


@given(histories, st.integers(1, 8))
def test_an_event_is_admitted_at_most_once(history: list[EventId], capacity: int) -> None:
    log, admitted = EventLog(capacity), list[EventId]()
    for now_us, each in enumerate(history):
        known = each in log
        if log.add(event(each), now_us):
            assert not known
            admitted.append(each)
        else:
            assert known
        assert each in log
        assert len(log) <= capacity
    assert len(admitted) == len(set(admitted))
    assert set(log) <= set(admitted)
    assert all(each in log for each in admitted), "what was admitted counts as seen for ever"
    never = set(history) - set(admitted)
    assert not never or log.refused, "what was refused though it may have been new is counted"


@given(histories, st.sampled_from([None, *[EventId(p, s) for p in range(4) for s in (1, 5, 9)]]), ids)
def test_slices_and_bounds_are_those_of_the_sorted_ids(
    history: list[EventId], low: EventId | None, high: EventId
) -> None:
    log = EventLog(100)
    for each in history:
        log.add(event(each), 0)
    inside = [each for each in sorted(set(history)) if (low is None or each >= low) and each <= high]
    assert [entry.event.id for entry in log.between(low, high)] == inside
    after = [each for each in sorted(set(history)) if low is None or each > low]
    assert [entry.event.id for entry in log.slice(low, 3)] == after[:3]


@given(st.lists(histories, max_size=4), st.integers(1, 8))
def test_the_past_remembers_what_logs_have_seen(groups: list[list[EventId]], capacity: int) -> None:
    past, seen = Past(capacity), set[EventId]()
    for history in groups:
        log = EventLog(capacity)
        for each in history:
            log.add(event(each), 0)
        past.take(log)
        seen.update(log)
        assert all(each in past for each in seen)
    if len(seen) <= capacity and all(len(set(history)) <= capacity for history in groups):
        assert {each for history in groups for each in history} == {
            EventId(p, s) for p in range(4) for s in range(1, 13) if EventId(p, s) in past
        }


def test_the_old_is_forgotten_by_age() -> None:
    log = EventLog(10)
    for sequence in range(1, 6):
        log.add(event(EventId(0, sequence)), born_us=sequence * 10)
    log.forget_older(30)
    assert [each.sequence for each in log] == [3, 4, 5]
    assert EventId(0, 2) in log, "it is still known to have been there"
    assert not log.add(event(EventId(0, 1)), 0)
