"""Ids as journals number them; events that stay as they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecast.core import ID_BITS, Event, EventId, Topic, journal_number


@given(st.integers(0, 2**63 - 1))
def test_a_small_id_is_its_own_journal_number(node: int) -> None:
    assert journal_number(node) == node


@given(st.integers(2 ** (ID_BITS - 1), 2**ID_BITS - 1), st.integers(0, ID_BITS - 64))
def test_a_wide_id_keeps_its_top_bits(node: int, bit: int) -> None:
    number = journal_number(node)
    assert format(number, "063b") == format(node, f"0{ID_BITS}b")[:63]
    assert journal_number(node ^ (1 << bit)) == number, "of the low bits nothing is left"


@given(st.tuples(st.integers(0, 9), st.integers(0, 9)), st.tuples(st.integers(0, 9), st.integers(0, 9)))
def test_event_ids_sort_by_publisher_and_then_sequence(one: tuple[int, int], other: tuple[int, int]) -> None:
    assert (EventId(*one) < EventId(*other)) == (one < other)


def test_an_event_never_changes() -> None:
    event = Event(EventId(3, 1), Topic("chat"), frozenset(), b"hello")
    with pytest.raises(AttributeError):
        event.payload = b"bye"  # type: ignore[misc]
    assert event == Event(EventId(3, 1), Topic("chat"), frozenset(), b"hello")
