"""The rules again, written as they are said and without regard to cost: what the checkers are compared with.

Works on rows as dictionaries; returns, by rule, the set of broken cases. Quadratic and worse.
"""

from itertools import pairwise
from typing import Any

Row = dict[str, Any]
Event = tuple[int, int]

CUTS = ("crash", "recover")


def event_of(row: Row) -> Event:
    return row["source"], row["sequence"]


def life_of(rows: list[Row], number: int) -> tuple[int, int]:
    """The node of a row, and how many crashes and recoveries it has behind it."""
    node = rows[number]["node"]
    return node, sum(row["node"] == node and row["kind"] in CUTS for row in rows[:number])


def lasts(rows: list[Row], number: int) -> bool:
    """Whether the node of the row neither crashes nor starts again later, and is not down."""
    node, cuts = life_of(rows, number)
    before = [row["kind"] for row in rows[:number] if row["node"] == node and row["kind"] in CUTS]
    return cuts == life_of([*rows, rows[number]], len(rows))[1] and before[-1:] != ["crash"]


def happened_before(rows: list[Row], topic: str) -> dict[Event, set[Event]]:
    """For each event of the topic all that happened before it, found by reachability."""
    published: dict[Event, int] = {}
    for number, row in enumerate(rows):
        if row["kind"] == "publish" and row["topic"] == topic:
            published.setdefault(event_of(row), number)
    before: dict[Event, set[Event]] = {event: set() for event in published}
    for event, number in published.items():
        for at, row in enumerate(rows[:number]):
            if life_of(rows, at) != life_of(rows, number) or row["topic"] != topic:
                continue
            earlier = event_of(row)
            is_first = row["kind"] == "publish" and published[earlier] == at
            if is_first or (row["kind"] == "deliver" and earlier in published):
                before[event].add(earlier)
    past = {}
    for event in published:
        found: set[Event] = set()
        ahead = [event]
        while ahead:
            for earlier in before[ahead.pop()] - found:
                found.add(earlier)
                ahead.append(earlier)
        past[event] = found
    return past


def is_circular(rows: list[Row]) -> bool:
    """Whether an event happened before itself, or is delivered by its publisher before it is published."""
    topics = {row["topic"] for row in rows}
    return any(event in past for topic in topics for event, past in happened_before(rows, topic).items())


def disorder(rows: list[Row]) -> set[tuple[str, tuple[int, int], Event]]:
    """(topic, life, event): first delivered in that life after one that it happened before."""
    broken = set()
    lives = [life_of(rows, number) for number in range(len(rows))]
    for topic in {row["topic"] for row in rows}:
        past = happened_before(rows, topic)
        for life in set(lives):
            order: list[Event] = []
            for number, row in enumerate(rows):
                if (row["kind"], lives[number], row["topic"]) == ("deliver", life, topic):
                    event = event_of(row)
                    if event not in past or event in order:
                        continue
                    if any(event in past[other] for other in order):
                        broken.add((topic, life, event))
                    order.append(event)
    return broken


def duplicates(rows: list[Row]) -> set[int]:
    """Rows that deliver what the same node delivered in an earlier row of the same life."""
    delivered = [(life_of(rows, number), event_of(row), number) for number, row in _of(rows, "deliver")]
    return {
        number
        for life, event, number in delivered
        if any((life, event) == (n, e) and number > other for n, e, other in delivered)
    }


def creations(rows: list[Row]) -> set[int]:
    """Rows that deliver what was not published so before, or that publish what cannot be."""
    publishes = _of(rows, "publish")
    broken = set()
    for number, row in publishes:
        is_second = any(event_of(row) == event_of(other) and n < number for n, other in publishes)
        if is_second or row["node"] != row["source"]:
            broken.add(number)
    for number, row in _of(rows, "deliver"):
        firsts = [(n, other) for n, other in publishes if event_of(other) == event_of(row)][:1]
        if not any(
            other["topic"] == row["topic"]
            and other["time_us"] <= row["time_us"]
            and (other["node"] != row["node"] or n < number)
            for n, other in firsts
        ):
            broken.add(number)
    return broken


def outsiders(rows: list[Row]) -> set[int]:
    """Rows that deliver at a node whose last word on the topic is not `subscribe`."""
    return {number for number, row in _of(rows, "deliver") if not _is_subscribed(rows[:number], row)}


def late_own(rows: list[Row]) -> set[Event]:
    """Events that their publisher, being subscribed, does not deliver when it publishes them, after that."""
    broken = set()
    seen = set()
    for number, row in _of(rows, "publish"):
        if event_of(row) in seen:
            continue
        seen.add(event_of(row))
        if _is_subscribed(rows[:number], row) and not any(
            other["kind"] == "deliver"
            and event_of(other) == event_of(row)
            and other["node"] == row["source"]
            and other["time_us"] == row["time_us"]
            for other in rows[number:]
        ):
            broken.add(event_of(row))
    return broken


def missed(rows: list[Row], has_faults: bool = False) -> set[tuple[str, int, Event]]:
    """(topic, node, event): owed to the node, by a publisher that runs on, and never delivered."""
    return {
        (topic, node, event)
        for topic, node, event, number in _owed(rows, has_faults)
        if lasts(rows, number) and not _delivers(rows, topic, node, event)
    }


def disagreed(rows: list[Row], has_faults: bool = False) -> set[tuple[str, int, Event]]:
    """(topic, node, event): owed to the node, delivered by one that runs on, and never by the node."""
    return {
        (topic, node, event)
        for topic, node, event, _ in _owed(rows, has_faults)
        if not _delivers(rows, topic, node, event)
        and any(
            row["topic"] == topic and event_of(row) == event and lasts(rows, number)
            for number, row in _of(rows, "deliver")
        )
    }


def unhealed(rows: list[Row], healed_us: int) -> list[object]:
    """What should have been confirmed or delivered, begun after the last fault had healed."""
    never_joined = [
        (topic, node)
        for topic, node, start in _standing(rows)
        if rows[start]["time_us"] > healed_us and not _joined(rows, topic, node, start)
    ]
    never_delivered = [
        (topic, node, event)
        for topic, node, event, number in _owed(rows, True)
        if rows[number]["time_us"] > healed_us
        and lasts(rows, number)
        and not _delivers(rows, topic, node, event)
    ]
    return [*never_joined, *never_delivered]


def catch_up_us(rows: list[Row], healed_us: int) -> int:
    """From healing to the last delivery, for the first time, of an event published by then and owed."""
    late = [healed_us]
    for topic, node, event, number in _owed(rows, True):
        times_us = [
            row["time_us"]
            for _, row in _of(rows, "deliver")
            if (row["topic"], row["node"], event_of(row)) == (topic, node, event)
        ]
        if rows[number]["time_us"] <= healed_us:
            late += times_us[:1]
    return max(late) - healed_us


def unconfirmed(rows: list[Row]) -> set[tuple[str, int]]:
    """(topic, node): subscribed to the end and never joined since."""
    return {(topic, node) for topic, node, start in _standing(rows) if not _joined(rows, topic, node, start)}


def unreceived(rows: list[Row]) -> int:
    """How many deliveries of another's event stand before any message about it at that node."""
    return sum(
        row["node"] != row["source"]
        and not any(
            (other["kind"], other["node"], other["topic"], event_of(other))
            == ("receive", row["node"], row["topic"], event_of(row))
            for other in rows[:number]
        )
        for number, row in _of(rows, "deliver")
    )


def strangers(rows: list[Row]) -> set[int]:
    """Rows with a PUB at a node that has never subscribed, nor registered if it sends its own."""

    def asked(number: int, kind: str) -> bool:
        row = rows[number]
        return any(
            (other["kind"], other["node"], other["topic"]) == (kind, row["node"], row["topic"])
            for other in rows[:number]
        )

    return {
        number
        for number, row in enumerate(rows)
        if row["kind"] in ("send", "receive")
        and row["message"] == "PUB"
        and not asked(number, "subscribe")
        and not (row["kind"] == "send" and row["node"] == row["source"] and asked(number, "register"))
    }


def false_positives(rows: list[Row]) -> int:
    return sum(
        row["message"] == "PUB" and not _is_subscribed(rows[:number], row)
        for number, row in _of(rows, "receive")
    )


def unsent(rows: list[Row], may_repeat: bool = False) -> int:
    """How many receptions find no send of their own, each taking the earliest that is left.

    Where messages may be repeated, none is taken away.
    """
    sends = [(row["time_us"], _hop(row, row["node"], row["peer"])) for _, row in _of(rows, "send")]
    broken = 0
    for _, row in _of(rows, "receive"):
        hop = _hop(row, row["peer"], row["node"])
        earlier = [send for send in sends if send[1] == hop and send[0] <= row["time_us"]]
        if not earlier:
            broken += 1
        elif not may_repeat:
            sends.remove(min(earlier))
    return broken


def stirring(rows: list[Row]) -> set[int]:
    """Rows of a node whose last cut is a crash, other than its recovery."""
    return {
        number
        for number, row in enumerate(rows)
        if row["kind"] != "recover"
        and [each["kind"] for each in rows[:number] if each["node"] == row["node"] and each["kind"] in CUTS][
            -1:
        ]
        == ["crash"]
    }


def unnoticed(rows: list[Row], bound_us: int) -> tuple[set[tuple[int, int]], int]:
    """(row, node): a crash or recovery that the node does not notice in time; and the number of cases."""
    broken = set()
    cases = 0
    for number, cut in enumerate(rows):
        until_us = cut["time_us"] + bound_us
        if cut["kind"] not in CUTS or until_us > rows[-1]["time_us"]:
            continue
        if any(
            row["node"] == cut["node"] and row["kind"] in CUTS and row["time_us"] <= until_us
            for row in rows[number + 1 :]
        ):
            continue
        for judge in {row["node"] for row in rows} - {cut["node"]}:
            if not _runs_through(rows, judge, cut["time_us"], until_us):
                continue
            words = [
                row
                for at, row in enumerate(rows)
                if (row["node"], row["peer"]) == (judge, cut["node"])
                and row["kind"] in ("suspect", "trust")
                and row["time_us"] <= until_us
                and not any(
                    other["node"] == judge and other["kind"] in CUTS and other["time_us"] < cut["time_us"]
                    for other in rows[at:]
                )
            ]
            before = [row["kind"] for row in words if row["time_us"] < cut["time_us"]]
            since = [row["kind"] for row in words if row["time_us"] >= cut["time_us"]]
            if cut["kind"] == "crash":
                cases += 1
                if (before + since)[-1:] != ["suspect"]:
                    broken.add((number, judge))
            elif before[-1:] == ["suspect"]:
                cases += 1
                if "trust" not in since:
                    broken.add((number, judge))
    return broken, cases


def false_suspicions(rows: list[Row]) -> int:
    return sum(not _is_down(rows, row["peer"], row["time_us"]) for _, row in _of(rows, "suspect"))


def detection_times_us(rows: list[Row]) -> list[int]:
    """Of each crash, by each node that runs on: how long until it first says so, the other being down."""
    found = []
    for number, crash in _of(rows, "crash"):
        for judge in {row["node"] for row in rows}:
            said_us = [
                row["time_us"]
                for _, row in _of(rows, "suspect")
                if (row["node"], row["peer"]) == (judge, crash["node"])
                and row["time_us"] >= crash["time_us"]
                and _runs_through(rows, judge, crash["time_us"], row["time_us"])
                and not any(
                    other["node"] == crash["node"]
                    and other["kind"] in CUTS
                    and other["time_us"] <= row["time_us"]
                    for other in rows[number + 1 :]
                )
            ]
            found += [at_us - crash["time_us"] for at_us in said_us[:1]]
    return sorted(found)


def is_ordered(rows: list[Row]) -> bool:
    return all(one["time_us"] <= other["time_us"] for one, other in pairwise(rows))


def _of(rows: list[Row], kind: str) -> list[tuple[int, Row]]:
    return [(number, row) for number, row in enumerate(rows) if row["kind"] == kind]


def _hop(row: Row, sender: int, receiver: int) -> tuple[Any, ...]:
    return row["message"], row["topic"], row["source"], row["sequence"], sender, receiver


def _is_subscribed(earlier: list[Row], at: Row) -> bool:
    words = [
        row["kind"]
        for row in earlier
        if row["node"] == at["node"]
        and (
            (row["kind"] in ("subscribe", "unsubscribe") and row["topic"] == at["topic"])
            or row["kind"] in CUTS
        )
    ]
    return words[-1:] == ["subscribe"]


def _standing(rows: list[Row]) -> list[tuple[str, int, int]]:
    """(topic, node, row of the subscription) of those open at the end; asking twice changes nothing."""
    standing: dict[tuple[str, int], int] = {}
    for number, row in enumerate(rows):
        if row["kind"] == "subscribe":
            standing.setdefault((row["topic"], row["node"]), number)
        if row["kind"] == "unsubscribe":
            standing.pop((row["topic"], row["node"]), None)
        if row["kind"] in CUTS:
            standing = {key: start for key, start in standing.items() if key[1] != row["node"]}
    return [(topic, node, number) for (topic, node), number in standing.items()]


def _owed(rows: list[Row], has_faults: bool) -> list[tuple[str, int, Event, int]]:
    """(topic, node, event, row of its publication): of others, after all knew of the node, which stays."""
    owed = []
    for topic, node, start in _standing(rows):
        known_us = _known_us(rows, topic, node, start, has_faults)
        seen = set()
        for number, row in _of(rows, "publish"):
            event = event_of(row)
            if row["topic"] != topic or event in seen:
                continue
            seen.add(event)
            if known_us is not None and row["node"] != node and row["time_us"] > known_us:
                owed.append((topic, node, event, number))
    return owed


def _delivers(rows: list[Row], topic: str, node: int, event: Event) -> bool:
    return any(
        (row["topic"], row["node"], event_of(row)) == (topic, node, event) for _, row in _of(rows, "deliver")
    )


def _is_down(rows: list[Row], node: int, time_us: int) -> bool:
    cuts = [
        row["kind"]
        for row in rows
        if row["node"] == node and row["kind"] in CUTS and row["time_us"] <= time_us
    ]
    return cuts[-1:] == ["crash"]


def _runs_through(rows: list[Row], node: int, from_us: int, until_us: int) -> bool:
    """Whether the node is up before, and neither crashes nor starts from the one time to the other."""
    return not _is_down(rows, node, from_us - 1) and not any(
        row["node"] == node and row["kind"] in CUTS and from_us <= row["time_us"] <= until_us for row in rows
    )


def _joined(rows: list[Row], topic: str, node: int, start: int) -> list[int]:
    return [
        row["time_us"]
        for row in rows[start:]
        if (row["kind"], row["topic"], row["node"]) == ("joined", topic, node)
    ]


def _known_us(rows: list[Row], topic: str, node: int, start: int, has_faults: bool) -> int | None:
    subs = [
        row["sequence"]
        for row in rows[start:]
        if (row["kind"], row["message"], row["topic"]) == ("send", "SUB", topic)
        and row["node"] == row["source"] == node
    ]
    if subs and not has_faults and not any(row["kind"] in CUTS for row in rows):
        learned = [
            row["time_us"]
            for _, row in _of(rows, "receive")
            if (row["message"], row["topic"], row["source"], row["sequence"])
            == ("SUB", topic, node, subs[-1])
        ]
        if learned:
            return max(learned)
    joined = _joined(rows, topic, node, start)
    return joined[0] if joined else None
