"""A protocol for tests of the simulator: events flood a ring with chords, and nothing stops it.

It withstands whatever happens to nodes and messages, since no node waits for another: a
node passes on each event once, acknowledges every copy, and tells its application of
itself by timers. Registered while a test's block runs.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

import msgspec

from treecast.core import (
    AlreadySubscribedError,
    Event,
    EventId,
    Host,
    Machine,
    Message,
    NodeId,
    NotSubscribedError,
    TimerKey,
    Topic,
)
from treecast.core.keys import Microseconds, conform
from treecast.protocols.registry import PROTOCOLS, Entry
from treecast.protocols.setup import Setup

LIFE = 1_000_000
"""Counters of one life are below those of the next."""


class Wave(msgspec.Struct, frozen=True):
    kind: ClassVar[str] = "WAVE"
    is_ack: ClassVar[bool] = False

    event: Event

    @property
    def topic(self) -> Topic:
        return self.event.topic

    @property
    def origin(self) -> EventId:
        return self.event.id


class Thanks(msgspec.Struct, frozen=True):
    kind: ClassVar[str] = "THANKS"
    is_ack: ClassVar[bool] = True
    event: ClassVar[None] = None

    topic: Topic
    origin: EventId


@dataclass(frozen=True, slots=True, kw_only=True)
class FloodSettings:
    beat_us: Microseconds = 0
    """Every node speaks to its neighbours so often, for ever; 0: it does not."""
    chords: tuple[NodeId, ...] = (1, 2, 5)
    """Whom a node passes events on to, as distances on the ring."""

    def __post_init__(self) -> None:
        conform(self)


class Flood(Machine):
    def __init__(self, host: Host, node: NodeId, setup: Setup) -> None:
        assert isinstance(setup.settings, FloodSettings)
        self.host = host
        self.node = node
        self.settings = setup.settings
        size = len(setup.nodes)
        self.neighbours = [(node + chord) % size for chord in self.settings.chords]
        standing = () if host.life else setup.subscribers.items()
        self.subscribed = {topic for topic, members in standing if node in members}
        self.registered: set[Topic] = set()
        self.seen: set[EventId] = set()
        self.counter = host.life * LIFE

    def start(self) -> None:
        for topic in sorted(self.subscribed):
            self.host.joined(topic)
        if self.settings.beat_us:
            self.host.set_timer("beat", self.settings.beat_us)

    def subscribe(self, topic: Topic) -> None:
        if topic in self.subscribed:
            raise AlreadySubscribedError(f"node {self.node} is subscribed to {topic!r} already; leave first")
        self.subscribed.add(topic)
        self._send(Thanks(topic, EventId(self.node, self.counter)))

    def unsubscribe(self, topic: Topic) -> None:
        if topic not in self.subscribed:
            raise NotSubscribedError(f"node {self.node} is not subscribed to {topic!r}; subscribe first")
        self.subscribed.remove(topic)

    def register(self, topic: Topic) -> None:
        self.registered.add(topic)

    def unregister(self, topic: Topic) -> None:
        self.registered.remove(topic)

    def publish(self, topic: Topic, payload: bytes) -> EventId:
        if topic not in self.subscribed | self.registered:
            raise NotSubscribedError(f"node {self.node} cannot publish to {topic!r}; subscribe first")
        self.counter += 1
        event = Event(EventId(self.node, self.counter), topic, frozenset(), payload)
        self.host.published(event)
        self._take(event)
        return event.id

    def receive(self, sender: NodeId, message: Message) -> None:
        if isinstance(message, Wave):
            self.host.send(sender, Thanks(message.topic, message.origin))
            if message.origin not in self.seen:
                self._take(message.event)

    def timer(self, key: TimerKey) -> None:
        if key == "beat":
            self._send(Thanks(Topic("beat"), EventId(self.node, self.counter)))
            self.host.set_timer("beat", self.settings.beat_us)

    def _take(self, event: Event) -> None:
        self.seen.add(event.id)
        if event.topic in self.subscribed:
            self.host.deliver(event)
        self._send(Wave(event))
        self.host.set_timer(event.id, 1 + self.host.random.randrange(1000))

    def _send(self, message: Wave | Thanks) -> None:
        for neighbour in self.neighbours:
            self.host.send(neighbour, message)


@contextmanager
def flood_registered() -> Iterator[None]:
    PROTOCOLS["flood"] = Entry(Flood, FloodSettings, relays="anyone")
    try:
        yield
    finally:
        del PROTOCOLS["flood"]
