"""Floodsub: each event to every neighbour that subscribes (libp2p; Pulsarcast, sections 2 and 5).

What IPFS had when Pulsarcast was measured. Neighbours in a connection graph tell one another
what they are subscribed to; an event goes to all neighbours subscribed to its topic, but for
the one it came from and its publisher; a seen-cache keeps it from going around for ever.
Nothing is acknowledged, repeated or kept. docs/protocols/floodsub.md.

The graph (`connections`): a ring, and from each node so many connections to others drawn by
a hash of the two numbers; whoever opened it, a connection carries both ways. All nodes derive
the same graph from the same list of nodes.

Invariants:
- an event is delivered and passed on at its first arrival only, as long as the seen-cache
  remembers it;
- of two tidings from one neighbour the later one counts, whatever order they come in.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Annotated, ClassVar

import msgspec

from treecast.core import (
    Event,
    EventId,
    Host,
    Machine,
    Message,
    NodeId,
    PeerError,
    TimerKey,
    Topic,
    first_sequence,
)
from treecast.core.keys import COUNT_MAX, Duration, Within, conform
from treecast.protocols.refusals import (
    already_registered,
    already_subscribed,
    cannot_publish,
    not_registered,
    not_subscribed,
)
from treecast.protocols.setup import Setup
from treecast.protocols.vcube.messages import Pub
from treecast.protocols.vcube.view import is_member
from treecast.structures.seen_set import SeenSet


@dataclass(frozen=True, slots=True, kw_only=True)
class FloodsubSettings:
    """What Floodsub can be told; the times are libp2p's."""

    connections: Annotated[int, Within("a count", 1, COUNT_MAX)] = 5
    """How many each node opens, besides the ring; it has about twice as many and two."""
    seen_ms: Duration = 120_000.0
    """How long an event is remembered; one that comes later again is taken for new."""
    seen_max: Annotated[int, Within("a count", 1, COUNT_MAX)] = 1_000_000
    """Events remembered at most."""

    def __post_init__(self) -> None:
        conform(self)


class Subscriptions(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """All that the origin is subscribed to now; `greets`: it has just started and wants to hear the same."""

    origin: EventId
    topics: tuple[Topic, ...]
    greets: bool

    kind: ClassVar[str] = "SUBSCRIPTIONS"
    is_ack: ClassVar[bool] = False
    topic: ClassVar[None] = None
    event: ClassVar[None] = None


@lru_cache(maxsize=8)
def connections(nodes: tuple[NodeId, ...], opened: int) -> dict[NodeId, tuple[NodeId, ...]]:
    """The graph: each node's neighbours, sorted."""
    found: dict[NodeId, set[NodeId]] = {node: set() for node in nodes}
    for place, node in enumerate(nodes):
        others = [nodes[(place + 1) % len(nodes)]]
        others += sorted((other for other in nodes if other != node), key=lambda other: _hash(node, other))[
            :opened
        ]
        for other in others:
            if other != node:
                found[node].add(other)
                found[other].add(node)
    return {node: tuple(sorted(neighbours)) for node, neighbours in found.items()}


def _hash(node: NodeId, other: NodeId) -> bytes:
    return sha256(f"floodsub/{node}/{other}".encode()).digest()


class Floodsub(Machine):
    """One node of Floodsub."""

    def __init__(self, host: Host, node: NodeId, setup: Setup) -> None:
        settings = setup.settings
        assert isinstance(settings, FloodsubSettings), "the registry names the class of settings"
        self._host = host
        self._node = node
        self._counter = first_sequence(host.life)
        self._neighbours: Sequence[NodeId] = connections(tuple(setup.nodes), settings.connections)[node]
        self._seen: SeenSet[EventId] = SeenSet(round(settings.seen_ms * 1000), settings.seen_max)
        standing = setup.subscribers.items() if host.life == 0 else ()
        self._subscribed: dict[Topic, None] = dict.fromkeys(
            topic for topic, members in standing if is_member(node, members)
        )
        self._registered: set[Topic] = set()
        self._told: dict[NodeId, int] = {}  # of each neighbour, the counter of its latest tidings ...
        self._theirs: dict[Topic, dict[NodeId, None]] = {}  # ... and who is subscribed by them

    # -- the application's side -----------------------------------------------------------

    def start(self) -> None:
        for topic in self._subscribed:
            self._host.joined(topic)
        self._tell(self._neighbours, greets=True)

    def subscribe(self, topic: Topic) -> None:
        if topic in self._subscribed:
            raise already_subscribed(self._node, topic)
        self._subscribed[topic] = None
        self._tell(self._neighbours)
        self._host.joined(topic)

    def unsubscribe(self, topic: Topic) -> None:
        if topic not in self._subscribed:
            raise not_subscribed(self._node, topic)
        del self._subscribed[topic]
        self._tell(self._neighbours)

    def register(self, topic: Topic) -> None:
        if topic in self._registered:
            raise already_registered(self._node, topic)
        self._registered.add(topic)

    def unregister(self, topic: Topic) -> None:
        if topic not in self._registered:
            raise not_registered(self._node, topic)
        self._registered.discard(topic)

    def publish(self, topic: Topic, payload: bytes) -> EventId:
        if topic not in self._subscribed and topic not in self._registered:
            raise cannot_publish(self._node, topic)
        event = Event(self._next_origin(), topic, frozenset(), payload)
        self._host.published(event)
        self._seen.add(event.id, self._host.now())
        if topic in self._subscribed:
            self._host.deliver(event)
        self._flood(event, self._node)
        return event.id

    # -- everybody's side -----------------------------------------------------------------

    def receive(self, sender: NodeId, message: Message) -> None:
        if type(message) is Pub:
            event = message.event
            if self._seen.add(event.id, self._host.now()):
                if event.topic in self._subscribed:
                    self._host.deliver(event)
                self._flood(event, sender)
        elif type(message) is Subscriptions:
            self._on_subscriptions(sender, message)
        else:
            raise PeerError(f"node {sender} sent a {message.kind}, which Floodsub does not know")

    def timer(self, key: TimerKey) -> None:
        raise AssertionError(f"Floodsub sets no timers, but {key!r} ran out")

    def _flood(self, event: Event, sender: NodeId) -> None:
        publisher, message, send = event.id.publisher, Pub(event), self._host.send
        for neighbour in self._theirs.get(event.topic, ()):
            if neighbour not in {sender, publisher}:
                send(neighbour, message)

    def _on_subscriptions(self, sender: NodeId, tidings: Subscriptions) -> None:
        if tidings.origin.sequence > self._told.get(sender, -1):
            self._told[sender] = tidings.origin.sequence
            for topic in tidings.topics:
                self._theirs.setdefault(topic, {})[sender] = None
            for topic, neighbours in self._theirs.items():
                if sender in neighbours and topic not in tidings.topics:
                    del neighbours[sender]
        if tidings.greets:
            self._tell((sender,))

    def _tell(self, whom: Sequence[NodeId], *, greets: bool = False) -> None:
        tidings = Subscriptions(self._next_origin(), tuple(self._subscribed), greets)
        for neighbour in whom:
            self._host.send(neighbour, tidings)

    def _next_origin(self) -> EventId:
        origin = EventId(self._node, self._counter)
        self._counter += 1
        return origin
