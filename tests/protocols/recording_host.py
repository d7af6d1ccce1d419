"""The third Host: it collects what a machine does into a list that a test compares."""

from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import TypeAlias

from treecast.core import Event, EventId, Message, NodeId, TimerKey, Topic


@dataclass(frozen=True)
class Sent:
    """A message on its way to node `to`."""

    to: NodeId
    message: Message


@dataclass(frozen=True)
class Delivered:
    """An event that the application has been given."""

    event: Event


@dataclass(frozen=True)
class Joined:
    """The application knows that its subscription stands."""

    topic: Topic


@dataclass(frozen=True)
class TimerSet:
    """A timer that will run out."""

    key: TimerKey
    after_us: int


@dataclass(frozen=True)
class TimerCancelled:
    """A timer that will not."""

    key: TimerKey


@dataclass(frozen=True)
class PeerChanged:
    """The application knows that a peer is taken for crashed, or for alive again."""

    peer: NodeId
    alive: bool


@dataclass(frozen=True)
class Hangs:
    """The node's place in a topic's tree; `parent` None: it is the root."""

    topic: Topic
    parent: NodeId | None


@dataclass(frozen=True)
class CutOff:
    """The node has no place in the topic's tree."""

    topic: Topic


@dataclass(frozen=True)
class Answered:
    """The application knows what came of its publication."""

    request: EventId
    event: EventId | None
    reason: str


Deed: TypeAlias = (
    Hangs | CutOff | Answered | Sent | Delivered | Joined | PeerChanged | TimerSet | TimerCancelled
)


class RecordingHost:
    """Does nothing but write down; the clock stands where the test puts it."""

    def __init__(self, seed: int = 0, life: int = 0) -> None:
        self.life = life
        self.random = Random(seed)
        self.clock_us = 0
        self.deeds: list[Deed] = []
        self.publications: list[Event] = []
        self.counts: Counter[str] = Counter()

    def now(self) -> int:
        return self.clock_us

    def send(self, to: NodeId, message: Message) -> None:
        self.deeds.append(Sent(to, message))

    def published(self, event: Event) -> None:
        self.publications.append(event)

    def deliver(self, event: Event) -> None:
        self.deeds.append(Delivered(event))

    def joined(self, topic: Topic) -> None:
        self.deeds.append(Joined(topic))

    def peer_changed(self, peer: NodeId, *, alive: bool) -> None:
        self.deeds.append(PeerChanged(peer, alive))

    def hangs(self, topic: Topic, parent: NodeId | None) -> None:
        self.deeds.append(Hangs(topic, parent))

    def cut_off(self, topic: Topic) -> None:
        self.deeds.append(CutOff(topic))

    def answered(self, request: EventId, event: EventId | None, reason: str) -> None:
        self.deeds.append(Answered(request, event, reason))

    def count(self, what: str, times: int = 1) -> None:
        self.counts[what] += times

    def set_timer(self, key: TimerKey, after_us: int) -> None:
        self.deeds.append(TimerSet(key, after_us))

    def cancel_timer(self, key: TimerKey) -> None:
        self.deeds.append(TimerCancelled(key))

    def take(self) -> list[Deed]:
        """What the machine has done since this was last asked."""
        deeds, self.deeds = self.deeds, []
        return deeds
