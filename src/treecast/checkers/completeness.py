"""Completeness: a subscriber that stays gets every event published after all have learned of it.

Judged for the subscriptions that stand when the journal ends, and only if the run ended
because nothing was left to happen: one that was cut has deliveries still on their way.
When all have learned of a subscriber is read from the journal: it is the last reception
of the last SUB of the node's own (SUBs of earlier subscriptions may have been queued, and
be sent after it has subscribed anew). Where there is none (no such rows, or a subscriber
from the start), it is the `joined` row, by which the protocol promises as much.
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

import pyarrow as pa

from treecast.checkers.report import Tally, Verdict, name_event
from treecast.checkers.rows import select, walk
from treecast.core import EventId, NodeId
from treecast.journal import QUIET_KEY, Kind, ended_quietly

_SUB = "SUB"
_COLUMNS = ("time_us", "node", "kind", "topic", "source", "sequence")


@dataclass(slots=True)
class _Published:
    """The events of one topic, in the order of their rows."""

    events: list[tuple[NodeId, int]] = field(default_factory=list)
    times_us: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    numbers: dict[tuple[NodeId, int], int] = field(default_factory=dict)
    own: dict[NodeId, list[int]] = field(default_factory=dict)


@dataclass(slots=True)
class _Subscription:
    row: int
    time_us: int
    joined_us: int | None = None
    sub_sequence: int | None = None


def check_completeness(journal: pa.Table) -> tuple[Verdict, Verdict]:
    """Completeness, and that every standing subscription was confirmed."""
    complete = Tally(
        "completeness",
        "who stays subscribed delivers all events published after everybody has learned of him",
    )
    joining = Tally("joining ends", "every subscription that stands at the end was confirmed by the protocol")
    quiet = ended_quietly(journal)
    if quiet is None:
        reason = f"the journal does not say whether the run ended quietly (metadata {QUIET_KEY.decode()})"
        return complete.skip(reason), joining.skip(reason)
    if not quiet:
        reason = "the run was cut before its end; leave out until_ms, or set it later"
        return complete.skip(reason), joining.skip(reason)
    _Completeness(journal, complete, joining).judge()
    return complete.verdict(), joining.verdict()


class _Completeness:
    def __init__(self, journal: pa.Table, complete: Tally, joining: Tally) -> None:
        self._journal = journal
        self._complete = complete
        self._joining = joining
        self._topics: dict[str, _Published] = {}
        self._delivered: dict[tuple[str, NodeId], bytearray] = {}  # one byte an event of the topic
        self._standing: dict[tuple[str, NodeId], _Subscription] = {}
        self._learned_us: dict[tuple[str, NodeId, int], int] = {}

    def judge(self) -> None:
        self._read_publications()
        self._read_subscriptions()
        self._read_deliveries()
        for (topic, node), subscription in self._standing.items():
            self._judge(topic, node, subscription)

    def _read_publications(self) -> None:
        for row, time_us, node, _, topic, source, sequence in walk(
            select(self._journal, (Kind.PUBLISH,), _COLUMNS)
        ):
            published = self._topics.setdefault(topic, _Published())
            event = (source, sequence)
            if event not in published.numbers:
                published.own.setdefault(node, []).append(len(published.events))
                published.numbers[event] = len(published.events)
                published.events.append(event)
                published.times_us.append(time_us)
                published.rows.append(row)

    def _read_subscriptions(self) -> None:
        kinds = (Kind.SUBSCRIBE, Kind.JOINED, Kind.UNSUBSCRIBE, Kind.SEND, Kind.RECEIVE)
        standing = self._standing
        for row, time_us, node, kind, topic, source, sequence in walk(
            select(self._journal, kinds, _COLUMNS, message=_SUB)
        ):
            subscription = standing.get((topic, node))
            if kind == Kind.RECEIVE:
                self._learned_us[topic, source, sequence] = time_us
            elif kind == Kind.SUBSCRIBE and subscription is None:
                standing[topic, node] = _Subscription(row, time_us)
            elif kind == Kind.UNSUBSCRIBE:
                standing.pop((topic, node), None)
            elif subscription is None:
                continue
            elif kind == Kind.JOINED and subscription.joined_us is None:
                subscription.joined_us = time_us
            elif kind == Kind.SEND and node == source:
                subscription.sub_sequence = sequence

    def _read_deliveries(self) -> None:
        for topic, node in self._standing:
            published = self._topics.get(topic)
            if published is not None:
                flags = self._delivered[topic, node] = bytearray(len(published.events))
                for number in published.own.get(node, ()):
                    flags[number] = 1
        for _, _, node, _, topic, source, sequence in walk(select(self._journal, (Kind.DELIVER,), _COLUMNS)):
            wanted = self._delivered.get((topic, node))
            if wanted is not None:
                found = self._topics[topic].numbers.get((source, sequence))
                if found is not None:
                    wanted[found] = 1

    def _judge(self, topic: str, node: NodeId, subscription: _Subscription) -> None:
        self._joining.checked += 1
        if subscription.joined_us is None:
            self._joining.violate(
                f"topic {topic}: node {node} subscribed at {subscription.time_us} us "
                f"(row {subscription.row}) and was never told that its subscription stands",
                rows=(subscription.row,),
                times_us=(subscription.time_us,),
                nodes=(node,),
            )
        known_us = subscription.joined_us
        if subscription.sub_sequence is not None:
            known_us = self._learned_us.get((topic, node, subscription.sub_sequence), known_us)
        published = self._topics.get(topic)
        if known_us is None or published is None:
            return
        start = bisect_right(published.times_us, known_us)
        own = published.own.get(node, [])
        self._complete.checked += len(published.events) - start - (len(own) - bisect_left(own, start))
        flags = self._delivered[topic, node]
        missed = flags.find(0, start)
        while missed >= 0:
            event, time_us, row = (
                published.events[missed],
                published.times_us[missed],
                published.rows[missed],
            )
            self._complete.violate(
                f"topic {topic}: node {node}, subscribed at {subscription.time_us} us "
                f"(row {subscription.row}) and known to all from {known_us} us, "
                f"never delivered event {name_event(event)}, "
                f"published at {time_us} us (row {row})",
                rows=(subscription.row, row),
                times_us=(known_us, time_us),
                nodes=(node,),
                events=(EventId(*event),),
            )
            missed = flags.find(0, missed + 1)
