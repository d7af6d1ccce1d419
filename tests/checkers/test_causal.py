"""Causal order on journals written by hand."""

import pyarrow as pa

from treecast.checkers import LISTED_MAX, Verdict, check
from treecast.core import EventId
from treecast.journal import journal_from_rows

A, B, C, D = 0, 1, 2, 3


def publish(time_us: int, node: int, sequence: int, topic: str = "chat") -> tuple[object, ...]:
    return time_us, node, "publish", None, topic, node, sequence


def deliver(time_us: int, node: int, source: int, sequence: int, topic: str = "chat") -> tuple[object, ...]:
    return time_us, node, "deliver", None, topic, source, sequence


def word(time_us: int, node: int, kind: str) -> tuple[object, ...]:
    return time_us, node, kind, None, "chat"


def judged(*rows: tuple[object, ...]) -> Verdict:
    return check(journal_from_rows(rows)).verdict("causal order")


def test_an_answer_before_its_question_is_named_in_full() -> None:
    verdict = judged(
        publish(1, A, 1),
        deliver(1, A, A, 1),
        deliver(5, B, A, 1),
        publish(6, B, 9),
        deliver(8, C, B, 9),
        deliver(9, C, A, 1),
    )
    assert (verdict.checked, verdict.count, verdict.ok) == (4, 1, False)
    (violation,) = verdict.violations
    assert violation.text == (
        "topic chat: node 2 delivered event 0:1 at 9 us (row 5) "
        "after event 1:9 at 8 us (row 4), which it happened before"
    )
    assert violation.nodes == (C,)
    assert violation.events == (EventId(A, 1), EventId(B, 9))
    assert violation.times_us == (9, 8)
    assert violation.rows == (5, 4)


def test_the_same_order_on_two_topics_is_free() -> None:
    assert judged(
        publish(1, A, 1),
        deliver(5, B, A, 1),
        publish(6, B, 9, "news"),
        deliver(8, C, B, 9, "news"),
        deliver(9, C, A, 1),
    ).ok


def test_order_reaches_through_events_that_the_node_never_delivers() -> None:
    chain = (publish(1, A, 1), deliver(2, B, A, 1), publish(3, B, 1), deliver(4, C, B, 1), publish(5, C, 1))
    assert judged(*chain, deliver(6, D, C, 1)).ok
    assert judged(*chain, deliver(6, D, C, 1), deliver(7, D, A, 1)).count == 1


def test_a_publisher_s_events_are_ordered_even_if_it_delivers_none_of_them() -> None:
    verdict = judged(publish(1, A, 1), publish(2, A, 2), deliver(3, B, A, 2), deliver(4, B, A, 1))
    assert verdict.violations[0].events == (EventId(A, 1), EventId(A, 2))


def test_concurrent_events_may_come_in_any_order() -> None:
    both = (publish(1, A, 1), publish(1, B, 1))
    assert judged(
        *both, deliver(2, C, A, 1), deliver(3, C, B, 1), deliver(4, D, B, 1), deliver(5, D, A, 1)
    ).ok


def test_order_holds_across_leaving_and_coming_back() -> None:
    assert not judged(
        word(0, C, "subscribe"),
        publish(1, A, 1),
        deliver(2, B, A, 1),
        publish(3, B, 1),
        deliver(4, C, B, 1),
        word(5, C, "unsubscribe"),
        word(6, C, "subscribe"),
        deliver(7, C, A, 1),
    ).ok


def test_a_late_own_delivery_hides_nothing() -> None:
    """A publisher delivers its first event after its second: what came before the first still counts."""
    verdict = judged(
        publish(1, D, 1),
        deliver(2, A, D, 1),
        publish(3, A, 1),
        publish(4, A, 2),
        deliver(5, A, A, 1),
        publish(6, A, 3),
        deliver(7, B, A, 3),
        deliver(8, B, D, 1),
    )
    assert [violation.events[0] for violation in verdict.violations] == [EventId(D, 1)]


def test_a_second_delivery_is_left_to_the_other_rule() -> None:
    report = check(
        journal_from_rows(
            [
                publish(1, A, 1),
                publish(2, A, 2),
                deliver(3, B, A, 1),
                deliver(4, B, A, 2),
                deliver(5, B, A, 1),
            ]
        )
    )
    assert report.verdict("causal order").ok
    assert report.verdict("no duplicate").count == 1


def test_rows_of_one_instant_are_taken_in_the_order_of_happening() -> None:
    """All at once: 2 publishes, 1 answers, 0 delivers both; the rows stand in the order of node ids."""
    happened = (publish(5, C, 1), deliver(5, B, C, 1), publish(5, B, 1))
    in_order = (deliver(5, A, C, 1), deliver(5, A, B, 1))
    out_of_order = (deliver(5, A, B, 1), deliver(5, A, C, 1))
    assert judged(*in_order, *happened[1:], happened[0]).ok
    assert judged(*out_of_order, *happened[1:], happened[0]).count == 1


def test_a_circle_is_a_violation_and_does_not_stop_the_rest() -> None:
    verdict = judged(
        deliver(1, A, B, 1),
        publish(1, A, 1),
        deliver(1, B, A, 1),
        publish(1, B, 1),
        publish(2, C, 1),
        publish(3, C, 2),
        deliver(4, D, C, 2),
        deliver(5, D, C, 1),
    )
    assert [(each.nodes, each.events[0]) for each in verdict.violations] == [
        ((D,), EventId(C, 1)),
        ((A,), EventId(B, 1)),
    ]


def test_long_journals_span_blocks() -> None:
    """More events than fit a block, and a late joiner that starts at the end and then goes back."""
    events = 10_000
    rows: list[tuple[object, ...]] = []
    for sequence in range(events):
        publisher = sequence % 2
        rows.append(publish(10 * sequence, publisher, sequence))
        rows.append(deliver(10 * sequence + 1, 1 - publisher, publisher, sequence))
    end_us = 10 * events
    late = (deliver(end_us, C, 1, events - 1), deliver(end_us + 1, C, 1, 4_097), deliver(end_us + 2, C, 0, 0))
    assert judged(*rows, late[0]).ok
    verdict = judged(*rows, *late)
    assert [violation.events[0] for violation in verdict.violations] == [EventId(1, 4_097), EventId(0, 0)]


def test_many_violations_are_counted_and_some_are_listed() -> None:
    events = 3 * LISTED_MAX
    rows = [publish(sequence, A, sequence) for sequence in range(events)]
    rows += [deliver(events + late, B, A, events - 1 - late) for late in range(events)]
    verdict = judged(*rows)
    assert (verdict.count, len(verdict.violations)) == (events - 1, LISTED_MAX)
    assert all(violation.text for violation in verdict.violations)


def test_chunks_with_dictionaries_of_their_own_read_alike() -> None:
    rows = [publish(1, A, 1), publish(2, A, 2), deliver(3, B, A, 2), deliver(4, B, A, 1)]
    parts = [journal_from_rows(rows[at : at + 1]) for at in range(len(rows))]
    assert check(pa.concat_tables(parts)).verdict("causal order").count == 1
