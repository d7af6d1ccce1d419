"""Delivery, completeness, overlay and network: one good journal, broken on purpose in every way."""

from collections.abc import Callable

import pytest

from treecast.checkers import Report, check
from treecast.core import EventId, JournalError
from treecast.journal import journal_from_rows, mark_quiet

Row = tuple[object, ...]

# Nodes 0 and 1 are subscribed from the start, node 2 joins, node 1 leaves with an event under way.
GOOD: list[Row] = [
    (0, 0, "subscribe", None, "chat"),
    (0, 0, "joined", None, "chat"),
    (0, 1, "subscribe", None, "chat"),
    (0, 1, "joined", None, "chat"),
    (10, 2, "subscribe", None, "chat"),
    (10, 2, "send", "SUB", "chat", 2, 1, 0),
    (10, 2, "send", "SUB", "chat", 2, 1, 1),
    (20, 0, "receive", "SUB", "chat", 2, 1, 2),
    (30, 1, "receive", "SUB", "chat", 2, 1, 2),
    (50, 2, "joined", None, "chat"),
    (60, 0, "publish", None, "chat", 0, 1),
    (60, 0, "deliver", None, "chat", 0, 1),
    (60, 0, "send", "PUB", "chat", 0, 1, 1),
    (60, 0, "send", "PUB", "chat", 0, 1, 2),
    (65, 1, "unsubscribe", None, "chat"),
    (70, 1, "receive", "PUB", "chat", 0, 1, 0),
    (70, 1, "send", "PUB", "chat", 0, 1, 2),
    (70, 2, "receive", "PUB", "chat", 0, 1, 0),
    (70, 2, "deliver", None, "chat", 0, 1),
    (80, 2, "receive", "PUB", "chat", 0, 1, 1),
]
MESSAGES = ("send", "receive")


def judged(rows: list[Row], quiet: bool | None = True) -> Report:
    return check(journal_from_rows(sorted(rows, key=lambda row: (row[0], row[1])), quiet=quiet))


def broken(report: Report) -> dict[str, int]:
    return {verdict.name: verdict.count for verdict in report.verdicts if not verdict.ok}


def without(*numbers: int) -> list[Row]:
    return [row for number, row in enumerate(GOOD) if number not in numbers]


def replaced(number: int, *values: object) -> list[Row]:
    return [*GOOD[:number], values, *GOOD[number + 1 :]]


def test_the_good_journal_passes_and_is_measured() -> None:
    report = judged(GOOD)
    assert report.ok
    assert {verdict.name: verdict.skipped for verdict in report.skipped} == {
        "progress after healing": "the journal notes no fault (metadata treecast.healed_us)",
        "bounded detection": "no bound was given (--detection-bound-ms)",
        "no cycles": "the journal tells of no trees (no hangs rows)",
        "no orphans": "the journal tells of no trees (no hangs rows)",
    }
    assert {verdict.name: verdict.checked for verdict in report.verdicts} == {
        "causal order": 2,
        "no duplicate": 2,
        "no creation": 2,
        "subscribers only": 2,
        "own event at once": 1,
        "completeness": 1,
        "agreement": 1,
        "joining ends": 2,
        "progress after healing": 0,
        "the dead are silent": 0,
        "bounded detection": 0,
        "subscribers carry": 6,
        "received was sent": 5,
        "delivered was received": 1,
        "no cycles": 0,
        "no orphans": 0,
    }
    assert report.figures == {
        "PUB receptions": 3,
        "false positives": 1,
        "false positive share": pytest.approx(1 / 3),
        "forwarders": 1,
        "forwarders of chat": 1,
        "messages sent": 5,
        "messages received": 5,
        "PUB sent": 3,
        "PUB received": 3,
        "SUB sent": 2,
        "SUB received": 2,
    }


BREAKS: dict[str, tuple[Callable[[], list[Row]], set[str]]] = {
    "delivered twice": (lambda: [*GOOD, (90, 2, "deliver", None, "chat", 0, 1)], {"no duplicate"}),
    "delivered, never published": (
        lambda: [*GOOD, (90, 2, "deliver", None, "chat", 0, 2)],
        {"no creation", "delivered was received"},
    ),
    "delivered under another publisher's name": (
        lambda: replaced(18, 70, 2, "deliver", None, "chat", 1, 1),
        {"no creation", "completeness", "agreement", "delivered was received"},
    ),
    "delivered on another topic": (
        lambda: [
            *replaced(18, 70, 2, "deliver", None, "news", 0, 1),
            (1, 2, "subscribe", None, "news"),
            (1, 2, "joined", None, "news"),
        ],
        {"no creation", "completeness", "agreement", "delivered was received"},
    ),
    "delivered before it is published": (
        lambda: replaced(18, 59, 2, "deliver", None, "chat", 0, 1),
        {"no creation", "delivered was received"},
    ),
    "own delivery before the publication": (
        lambda: [*GOOD[:10], GOOD[11], GOOD[10], *GOOD[12:]],
        {"no creation", "causal order", "own event at once"},
    ),
    "own delivery late": (lambda: replaced(11, 61, 0, "deliver", None, "chat", 0, 1), {"own event at once"}),
    "own delivery missing": (lambda: without(11), {"own event at once"}),
    "published twice under one name": (
        lambda: [*GOOD, (90, 0, "publish", None, "chat", 0, 1)],
        {"no creation"},
    ),
    "published in another's name": (
        lambda: [
            *GOOD,
            (90, 2, "publish", None, "chat", 0, 7),
            (90, 0, "deliver", None, "chat", 0, 7),
        ],
        {"no creation", "own event at once"},
    ),
    "delivered after leaving": (
        lambda: [*GOOD, (90, 1, "deliver", None, "chat", 0, 1)],
        {"subscribers only"},
    ),
    "left a moment before the delivery": (
        lambda: [*GOOD[:18], (70, 2, "unsubscribe", None, "chat"), *GOOD[18:]],
        {"subscribers only"},
    ),
    "never subscribed": (
        lambda: without(4, 9),
        {"subscribers only", "subscribers carry"},
    ),
    "delivery dropped": (lambda: without(18), {"completeness", "agreement"}),
    "never told that it joined": (lambda: without(9), {"joining ends"}),
    "received without a send": (lambda: without(13), {"received was sent"}),
    "received twice, sent once": (
        lambda: [*GOOD, (95, 2, "receive", "PUB", "chat", 0, 1, 1)],
        {"received was sent"},
    ),
    "received before it was sent": (
        lambda: replaced(19, 69, 2, "receive", "PUB", "chat", 0, 1, 1),
        {"received was sent"},
    ),
    "received from somebody else": (
        lambda: replaced(7, 20, 0, "receive", "SUB", "chat", 2, 1, 1),
        {"received was sent"},
    ),
    "delivered without a reception": (lambda: without(17, 19), {"delivered was received"}),
    "delivered before the reception": (
        lambda: [*GOOD[:17], GOOD[18], GOOD[17], GOOD[19]],
        {"delivered was received"},
    ),
    "a stranger receives": (
        lambda: [*GOOD, (90, 0, "send", "PUB", "chat", 0, 1, 3), (95, 3, "receive", "PUB", "chat", 0, 1, 0)],
        {"subscribers carry"},
    ),
    "a stranger sends": (lambda: [*GOOD, (90, 3, "send", "PUB", "chat", 0, 1, 2)], {"subscribers carry"}),
    "subscribed only after the reception": (
        lambda: [
            *GOOD,
            (90, 0, "send", "PUB", "chat", 0, 1, 3),
            (95, 3, "receive", "PUB", "chat", 0, 1, 0),
            (96, 3, "subscribe", None, "chat"),
            (96, 3, "joined", None, "chat"),
        ],
        {"subscribers carry"},
    ),
}


@pytest.mark.parametrize("way", BREAKS)
def test_each_way_to_break_it_breaks_its_rules_and_no_other(way: str) -> None:
    make, rules = BREAKS[way]
    assert broken(judged(make())).keys() == rules


def test_violations_name_events_nodes_and_times() -> None:
    (violation,) = judged(without(18)).verdict("completeness").violations
    assert violation.text == (
        "topic chat: node 2, subscribed at 10 us (row 4) and known to all from 30 us, "
        "never delivered event 0:1, published at 60 us (row 10)"
    )
    assert (violation.nodes, violation.events) == ((2,), (EventId(0, 1),))
    assert (violation.times_us, violation.rows) == ((30, 60), (4, 10))
    (violation,) = judged(BREAKS["delivered twice"][0]()).verdict("no duplicate").violations
    assert (violation.rows, violation.times_us) == ((20, 18), (90, 70))
    (violation,) = judged(without(13)).verdict("received was sent").violations
    assert (violation.rows, violation.nodes, violation.events) == ((16,), (2, 0), (EventId(0, 1),))


@pytest.mark.parametrize(("published_us", "is_owed"), [(30, False), (31, True), (50, True)])
def test_events_are_owed_from_the_last_reception_of_the_sub(published_us: int, is_owed: bool) -> None:
    """Strictly after it, though before the subscriber is told that it joined."""
    more: list[Row] = [
        (published_us, 0, "publish", None, "chat", 0, 2),
        (published_us, 0, "deliver", None, "chat", 0, 2),
        (published_us + 1, 1, "deliver", None, "chat", 0, 2),
    ]
    assert judged([*GOOD, *more]).verdict("completeness").count == is_owed


@pytest.mark.parametrize(("published_us", "is_owed"), [(31, False), (50, False), (51, True)])
def test_without_messages_events_are_owed_from_joining(published_us: int, is_owed: bool) -> None:
    kept = [row for row in GOOD if row[2] not in MESSAGES]
    more: list[Row] = [
        (published_us, 0, "publish", None, "chat", 0, 2),
        (published_us, 0, "deliver", None, "chat", 0, 2),
    ]
    assert judged([*kept, *more]).verdict("completeness").count == is_owed


def test_the_sub_of_an_earlier_subscription_does_not_count() -> None:
    again: list[Row] = [
        (90, 2, "unsubscribe", None, "chat"),
        (91, 2, "subscribe", None, "chat"),
        (91, 2, "send", "SUB", "chat", 2, 3, 0),
        (92, 0, "publish", None, "chat", 0, 2),
        (92, 0, "deliver", None, "chat", 0, 2),
        (95, 0, "receive", "SUB", "chat", 2, 3, 2),
        (99, 2, "joined", None, "chat"),
    ]
    assert judged([*GOOD, *again]).ok
    owed: list[Row] = [(96, 0, "publish", None, "chat", 0, 3), (96, 0, "deliver", None, "chat", 0, 3)]
    assert broken(judged([*GOOD, *again, *owed])) == {"completeness": 1, "agreement": 1}


def test_the_node_s_own_last_sub_tells_when_it_is_known() -> None:
    """It passes on another node's SUB; and the first of its own belongs to a subscription given up.

    Node 1 subscribed, left and subscribed again while the first SUB still waited to be sent.
    """
    rows: list[Row] = [
        (0, 0, "subscribe", None, "chat"),
        (0, 0, "joined", None, "chat"),
        (8, 1, "subscribe", None, "chat"),
        (9, 1, "unsubscribe", None, "chat"),
        (10, 1, "subscribe", None, "chat"),
        (10, 1, "send", "SUB", "chat", 1, 1, 0),
        (20, 0, "receive", "SUB", "chat", 1, 1, 1),
        (25, 1, "send", "SUB", "chat", 1, 3, 0),
        (26, 1, "send", "SUB", "chat", 2, 5, 0),
        (30, 0, "publish", None, "chat", 0, 1),
        (30, 0, "deliver", None, "chat", 0, 1),
        (40, 0, "receive", "SUB", "chat", 1, 3, 1),
        (45, 0, "publish", None, "chat", 0, 2),
        (45, 0, "deliver", None, "chat", 0, 2),
        (50, 0, "receive", "SUB", "chat", 2, 5, 1),
        (60, 1, "joined", None, "chat"),
    ]
    (violation,) = judged(rows).verdict("completeness").violations
    assert violation.times_us == (40, 45)


def test_who_left_is_owed_nothing() -> None:
    assert judged([*without(18), (90, 2, "unsubscribe", None, "chat")]).verdict("completeness").checked == 0


@pytest.mark.parametrize(("quiet", "reason"), [(False, "cut before its end"), (None, "does not say")])
def test_an_end_that_is_not_one_is_not_judged(quiet: bool | None, reason: str) -> None:
    report = judged(without(9, 18), quiet)
    assert report.ok
    names = ("completeness", "agreement", "joining ends", "progress after healing")
    assert all(reason in str(report.verdict(name).skipped) for name in names)
    others = {"bounded detection", "no cycles", "no orphans"}
    assert {verdict.name for verdict in report.skipped} == {*names, *others}


def test_a_journal_of_deliveries_is_judged_by_what_it_holds() -> None:
    report = judged([row for row in GOOD if row[2] not in MESSAGES])
    assert report.ok
    for name in ("subscribers carry", "received was sent"):
        assert "write it with level 'all'" in str(report.verdict(name).skipped)
    assert report.figures == {}


def test_sends_in_flight_at_the_end_are_no_fault() -> None:
    assert judged(without(19)).ok


def test_an_empty_journal_breaks_nothing() -> None:
    assert judged([]).ok


def test_runs_are_checked_one_at_a_time() -> None:
    import pyarrow as pa

    both = pa.concat_tables([journal_from_rows(GOOD, run="a"), journal_from_rows(GOOD, run="b")])
    with pytest.raises(JournalError, match=r"holds 2 runs .* one at a time"):
        check(both)


def test_rows_out_of_time_are_refused_with_the_place() -> None:
    with pytest.raises(JournalError, match=r"back in time at row 2, from 5 us to 4 us"):
        check(journal_from_rows([(time_us, 0, "joined", None, "chat") for time_us in (1, 5, 4)]))


def test_a_table_that_is_no_journal_is_refused() -> None:
    with pytest.raises(JournalError, match="column 'time_us' is missing"):
        check(mark_quiet(journal_from_rows(GOOD), True).drop_columns(["time_us"]))


def test_rows_that_say_too_little_are_not_judged() -> None:
    nameless: list[Row] = [(*row[:4], None, *row[5:]) if row[2] == "deliver" else row for row in GOOD]
    with pytest.raises(
        JournalError, match=r"column 'topic' is empty in \d+ deliver rows; each needs topic, so"
    ):
        judged(nameless)
    with pytest.raises(JournalError, match="column 'node' holds -4; numbers are 0 or above"):
        judged([*GOOD, (90, -4, "subscribe", None, "chat")])
