"""Who is owed which events, and who delivered them: what completeness and agreement judge by.

An event is owed to a subscription that stands when the journal ends if it was published
after all had learned of the subscriber, strictly later, as rows of one instant at two
nodes have no order. When that was is read from the journal. Without faults it is the last
reception of the last SUB of the node's own (SUBs of earlier subscriptions may have been
queued, and be sent after it has subscribed anew). Where there is none (no such rows, or a
subscriber from the start), it is the `joined` row, by which the protocol promises as much.
With crashes or other faults it is always the `joined` row: a SUB that was lost, or whose
receiver has forgotten it since, told nobody.

The paper of VCube-PB (section 4) calls a subscriber correct from its first delivery on. It
can mean no more than this, though: a publisher may still know nothing of a subscriber that
delivers another's events already, as the trees of two publishers change at different
times. And what was published before a subscription stood need not come to it at all.

Invariant: the events of a topic are numbered in the order of their rows, so in that of time.
"""

import sys
from bisect import bisect_right
from dataclasses import dataclass, field

import pyarrow as pa

from treecast.checkers.interests import Interests
from treecast.checkers.lives import CUTS, Lives
from treecast.checkers.rows import select, walk
from treecast.core import NodeId
from treecast.journal import Kind

_SUB = "SUB"
_COLUMNS = ("time_us", "node", "kind", "topic", "source", "sequence")


@dataclass(slots=True)
class Published:
    """The events of one topic and of those below it; `lasting` and `vouched` hold a byte for each."""

    events: list[tuple[NodeId, int]] = field(default_factory=list)
    times_us: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    numbers: dict[tuple[NodeId, int], int] = field(default_factory=dict)
    own: dict[NodeId, list[int]] = field(default_factory=dict)
    lasting: bytearray = field(default_factory=bytearray)  # its publisher runs on to the end
    vouched: bytearray = field(default_factory=bytearray)  # so does one that delivered it

    def add(self, node: NodeId, event: tuple[NodeId, int], row: int, time_us: int, *, lasting: bool) -> None:
        self.own.setdefault(node, []).append(len(self.events))
        self.numbers[event] = len(self.events)
        self.events.append(event)
        self.times_us.append(time_us)
        self.rows.append(row)
        self.lasting.append(lasting)

    def after(self, time_us: int) -> int:
        """The number of the first event published later than that."""
        return bisect_right(self.times_us, time_us)


@dataclass(slots=True)
class Subscription:
    """One that stands when the journal ends."""

    row: int
    time_us: int
    joined_us: int | None = None
    sub_sequence: int | None = None
    known_us: int | None = None  # when all had learned of it
    start: int = sys.maxsize  # the first event owed to it
    delivered: bytearray = field(default_factory=bytearray)  # a byte for each event of the topic


class Owed:
    """The publications, standing subscriptions and deliveries of one journal."""

    def __init__(self, journal: pa.Table, lives: Lives, healed_us: int | None) -> None:
        self._journal = journal
        self._lives = lives
        self._healed_us = healed_us
        self._interests = Interests(journal)
        self.topics: dict[str, Published] = {}
        self.standing: dict[NodeId, dict[str, Subscription]] = {}
        self.caught_up_us = healed_us
        """When an event owed since before healing last came where it lacked; then at the earliest."""
        self._read_publications()
        self._read_subscriptions()
        self._read_deliveries()

    def _read_publications(self) -> None:
        for row, time_us, node, _, topic, source, sequence in walk(
            select(self._journal, (Kind.PUBLISH,), _COLUMNS)
        ):
            for each in self._interests.concerned(topic):
                published = self.topics.setdefault(each, Published())
                if (source, sequence) not in published.numbers:
                    lasting = self._lives.lasts(node, row)
                    published.add(node, (source, sequence), row, time_us, lasting=lasting)
        for published in self.topics.values():
            published.vouched = bytearray(len(published.events))

    def _read_subscriptions(self) -> None:
        learned_us: dict[tuple[str, NodeId, int], int] = {}
        kinds = (Kind.SUBSCRIBE, Kind.JOINED, Kind.UNSUBSCRIBE, Kind.SEND, Kind.RECEIVE, *CUTS)
        standing = self.standing
        for row, time_us, node, kind, topic, source, sequence in walk(
            select(self._journal, kinds, _COLUMNS, message=_SUB)
        ):
            if kind == Kind.RECEIVE:
                learned_us[topic, source, sequence] = time_us
                continue
            if topic is None:  # a crash or a recovery
                standing.pop(node, None)
                continue
            subscriptions = standing.setdefault(node, {})
            subscription = subscriptions.get(topic)
            if kind == Kind.SUBSCRIBE and subscription is None:
                subscriptions[topic] = Subscription(row, time_us)
            elif kind == Kind.UNSUBSCRIBE:
                subscriptions.pop(topic, None)
            elif subscription is None:
                continue
            elif kind == Kind.JOINED and subscription.joined_us is None:
                subscription.joined_us = time_us
            elif kind == Kind.SEND and node == source:
                subscription.sub_sequence = sequence
        if self._healed_us is not None or self._lives.cuts:
            learned_us.clear()
        for node, subscriptions in standing.items():
            for topic, subscription in subscriptions.items():
                self._settle(node, topic, subscription, learned_us)

    def _settle(
        self,
        node: NodeId,
        topic: str,
        subscription: Subscription,
        learned_us: dict[tuple[str, NodeId, int], int],
    ) -> None:
        """Say from when on events are owed to it; its own it has."""
        known_us = subscription.joined_us
        if subscription.sub_sequence is not None:
            known_us = learned_us.get((topic, node, subscription.sub_sequence), known_us)
        subscription.known_us = known_us
        published = self.topics.get(topic)
        if published is None:
            return
        if known_us is not None:
            subscription.start = published.after(known_us)
        subscription.delivered = bytearray(len(published.events))
        for number in published.own.get(node, ()):
            subscription.delivered[number] = 1

    def _read_deliveries(self) -> None:
        healed_us = sys.maxsize if self._healed_us is None else self._healed_us
        ended = self._lives.ended
        for row, time_us, node, _, topic, source, sequence in walk(
            select(self._journal, (Kind.DELIVER,), _COLUMNS)
        ):
            for each in self._interests.concerned(topic):
                published = self.topics.get(each)
                number = None if published is None else published.numbers.get((source, sequence))
                if published is None or number is None:
                    continue
                if ended.get(node, -1) < row:
                    published.vouched[number] = 1
                subscription = self.standing.get(node, {}).get(each)
                if subscription is None or subscription.delivered[number]:  # its own, or a duplicate
                    continue
                subscription.delivered[number] = 1
                if time_us > healed_us >= published.times_us[number] and number >= subscription.start:
                    self.caught_up_us = time_us
