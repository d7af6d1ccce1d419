"""The rules again, written as they are said and without regard to cost: what the checkers are compared with.

Works on rows as dictionaries; returns, by rule, the set of broken cases. Quadratic and worse.
"""

from itertools import pairwise
from typing import Any

Row = dict[str, Any]
Event = tuple[int, int]


def event_of(row: Row) -> Event:
    return row["source"], row["sequence"]


def happened_before(rows: list[Row], topic: str) -> dict[Event, set[Event]]:
    """For each event of the topic all that happened before it, found by reachability."""
    published: dict[Event, int] = {}
    for number, row in enumerate(rows):
        if row["kind"] == "publish" and row["topic"] == topic:
            published.setdefault(event_of(row), number)
    before: dict[Event, set[Event]] = {event: set() for event in published}
    for event, number in published.items():
        for at, row in enumerate(rows[:number]):
            if row["node"] != rows[number]["node"] or row["topic"] != topic:
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


def disorder(rows: list[Row]) -> set[tuple[str, int, Event]]:
    """(topic, node, event): the node first delivered the event after one that it happened before."""
    broken = set()
    for topic in {row["topic"] for row in rows}:
        past = happened_before(rows, topic)
        for node in {row["node"] for row in rows}:
            order: list[Event] = []
            for row in rows:
                if (row["kind"], row["node"], row["topic"]) == ("deliver", node, topic):
                    event = event_of(row)
                    if event not in past or event in order:
                        continue
                    if any(event in past[other] for other in order):
                        broken.add((topic, node, event))
                    order.append(event)
    return broken


def duplicates(rows: list[Row]) -> set[int]:
    """Rows that deliver what the same node delivered in an earlier row."""
    delivered = [(row["node"], event_of(row), number) for number, row in _of(rows, "deliver")]
    return {
        number
        for node, event, number in delivered
        if any((node, event) == (n, e) and number > other for n, e, other in delivered)
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
    """Events that their publisher does not deliver at the time of the publication, after it."""
    broken = set()
    seen = set()
    for number, row in _of(rows, "publish"):
        if event_of(row) in seen:
            continue
        seen.add(event_of(row))
        if not any(
            other["kind"] == "deliver"
            and event_of(other) == event_of(row)
            and other["node"] == row["source"]
            and other["time_us"] == row["time_us"]
            for other in rows[number:]
        ):
            broken.add(event_of(row))
    return broken


def missed(rows: list[Row]) -> set[tuple[str, int, Event]]:
    """(topic, node, event): published after all knew of the node, which stays, and never delivered there."""
    broken = set()
    for topic, node, start in _standing(rows):
        known_us = _known_us(rows, topic, node, start)
        if known_us is None:
            continue
        delivered = {
            event_of(row) for _, row in _of(rows, "deliver") if (row["topic"], row["node"]) == (topic, node)
        }
        seen = set()
        for _, row in _of(rows, "publish"):
            event = event_of(row)
            if row["topic"] != topic or event in seen:
                continue
            seen.add(event)
            if row["node"] != node and row["time_us"] > known_us and event not in delivered:
                broken.add((topic, node, event))
    return broken


def unconfirmed(rows: list[Row]) -> set[tuple[str, int]]:
    """(topic, node): subscribed to the end and never joined since."""
    return {(topic, node) for topic, node, start in _standing(rows) if not _joined(rows, topic, node, start)}


def strangers(rows: list[Row]) -> set[int]:
    """Rows that send or receive a PUB at a node that has not subscribed in any row before."""
    return {
        number
        for number, row in enumerate(rows)
        if row["kind"] in ("send", "receive")
        and row["message"] == "PUB"
        and not any(
            (other["kind"], other["node"], other["topic"]) == ("subscribe", row["node"], row["topic"])
            for other in rows[:number]
        )
    }


def false_positives(rows: list[Row]) -> int:
    return sum(
        row["message"] == "PUB" and not _is_subscribed(rows[:number], row)
        for number, row in _of(rows, "receive")
    )


def unsent(rows: list[Row]) -> int:
    """How many receptions find no send of their own, each taking the earliest that is left."""
    sends = [(row["time_us"], _hop(row, row["node"], row["peer"])) for _, row in _of(rows, "send")]
    broken = 0
    for _, row in _of(rows, "receive"):
        hop = _hop(row, row["peer"], row["node"])
        earlier = [send for send in sends if send[1] == hop and send[0] <= row["time_us"]]
        if earlier:
            sends.remove(min(earlier))
        else:
            broken += 1
    return broken


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
        if row["kind"] in ("subscribe", "unsubscribe")
        and (row["node"], row["topic"]) == (at["node"], at["topic"])
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
    return [(topic, node, number) for (topic, node), number in standing.items()]


def _joined(rows: list[Row], topic: str, node: int, start: int) -> list[int]:
    return [
        row["time_us"]
        for row in rows[start:]
        if (row["kind"], row["topic"], row["node"]) == ("joined", topic, node)
    ]


def _known_us(rows: list[Row], topic: str, node: int, start: int) -> int | None:
    subs = [
        row["sequence"]
        for row in rows[start:]
        if (row["kind"], row["message"], row["topic"]) == ("send", "SUB", topic)
        and row["node"] == row["source"] == node
    ]
    if subs:
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
