"""Causal histories, explicitly: each event knows all its predecessors, each node all that it has had.

Sets of events are bit masks, so that a history of thousands stays quick; apart from that
everything here is done the slow way, from the definitions of the 2018 paper, section 3.2.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from treecast.core import Event, EventId, NodeId, Topic
from treecast.structures.causal_barrier import CausalBarrier

TOPIC = Topic("chat")

SETTLE_FROM = 5_000
"""With a choice from here on, an arrival is followed by the word of its publisher."""


@dataclass
class History:
    """All events of one topic in the order of their publication, and what each one follows."""

    events: list[Event] = field(default_factory=list)
    bit: dict[EventId, int] = field(default_factory=dict)
    past: dict[EventId, int] = field(default_factory=dict)

    def add(self, event: Event, past: int) -> None:
        self.bit[event.id] = 1 << len(self.events)
        self.past[event.id] = past
        self.events.append(event)

    def mask(self, events: Iterable[Event]) -> int:
        mask = 0
        for event in events:
            mask |= self.bit[event.id]
        return mask

    def immediate_predecessors(self, delivered: Iterable[EventId]) -> frozenset[EventId]:
        """Those of `delivered` that no other of them follows."""
        delivered = list(delivered)
        followed = 0
        for identity in delivered:
            followed |= self.past[identity]
        return frozenset(identity for identity in delivered if not self.bit[identity] & followed)


@dataclass
class NaiveNode:
    """Delivers by the whole past of an event; looks at all that waits on each arrival.

    `expected` holds what may be waited for: of the past of an event, the rest never comes.
    None means everything: nothing in an event's past may be skipped.
    """

    history: History
    expected: int | None = None
    delivered: int = 0
    waiting: list[Event] = field(default_factory=list)

    def receive(self, event: Event) -> set[EventId]:
        self.waiting.append(event)
        return self.deliver()

    def deliver(self) -> set[EventId]:
        handed_over: set[EventId] = set()
        found = True
        while found:
            found = False
            for event in self.waiting:
                missing = self.history.past[event.id] & ~self.delivered
                if not missing or (self.expected is not None and not missing & self.expected):
                    self.waiting.remove(event)
                    self.delivered |= self.history.bit[event.id]
                    handed_over.add(event.id)
                    found = True
                    break
        return handed_over


class Group:
    """Nodes that are all subscribed from the beginning, with a FIFO from each publisher to each.

    Every step is checked against the naive nodes.
    """

    def __init__(self, nodes: int) -> None:
        self.history = History()
        self.nodes = range(nodes)
        self.barriers = [CausalBarrier(settled=True) for _ in self.nodes]
        self.naive = [NaiveNode(self.history) for _ in self.nodes]
        self.order: list[list[EventId]] = [[] for _ in self.nodes]
        self.ahead: dict[tuple[NodeId, NodeId], deque[Event]] = {
            (source, to): deque() for source in self.nodes for to in self.nodes if source != to
        }
        self.counters = [1 for _ in self.nodes]

    def publish(self, source: NodeId) -> Event:
        identity = EventId(source, self.counters[source])
        self.counters[source] += 1
        parents = self.barriers[source].publish(identity)
        assert parents == self.history.immediate_predecessors(self.order[source])
        event = Event(identity, TOPIC, parents, b"")
        self.history.add(event, self.naive[source].delivered)
        self.naive[source].delivered |= self.history.bit[identity]
        self.order[source].append(identity)
        for to in self.nodes:
            if to != source:
                self.ahead[source, to].append(event)
        return event

    def arrivals(self) -> list[tuple[NodeId, NodeId]]:
        """The publishers and nodes between which something is under way."""
        return [link for link, events in self.ahead.items() if events]

    def arrive(self, source: NodeId, to: NodeId) -> list[EventId]:
        event = self.ahead[source, to].popleft()
        before = self.naive[to].delivered
        ready = [each.id for each in self.barriers[to].receive(event)]
        assert set(ready) == self.naive[to].receive(event), "all that can go, and nothing else"
        in_causal_order(self.history, ready, delivered=before)
        assert self.barriers[to].waiting == len(self.naive[to].waiting)
        self.order[to] += ready
        for identity in ready:
            self.counters[to] = max(self.counters[to], identity.sequence + 1)
        return ready

    def settle(self, source: NodeId, to: NodeId) -> None:
        """The publisher says how far it has come, no further than it has at this node."""
        under_way = self.ahead[source, to]
        newest = under_way[0].id.sequence - 1 if under_way else self.counters[source] - 1
        assert not self.barriers[to].settle(source, newest), "nothing waits for what will not come"

    def take_step(self, choice: int, *, publications_max: int) -> None:
        """One of all the steps that can be taken; the remainder of `choice` says which."""
        links = self.arrivals()
        publishers = len(self.nodes) if len(self.history.events) < publications_max else 0
        chosen = choice % max(1, publishers + len(links))
        if chosen < publishers:
            self.publish(chosen)
        elif links:
            self.arrive(*links[chosen - publishers])
            if choice >= SETTLE_FROM:
                self.settle(*links[chosen - publishers])

    def finish(self) -> None:
        """Let all arrive that is under way, and check that everybody has had everything once."""
        while links := self.arrivals():
            self.arrive(*links[0])
        for order in self.order:
            assert sorted(order) == sorted(event.id for event in self.history.events)


def in_causal_order(
    history: History, order: Iterable[EventId], *, delivered: int = 0, never: int = 0
) -> None:
    """Fail unless each event comes once and after all its past but what `never` comes."""
    for identity in order:
        assert not history.bit[identity] & delivered, f"{identity} is delivered twice"
        overtaken = history.past[identity] & ~delivered & ~never
        assert not overtaken, f"{identity} overtakes " + str(
            [event.id for event in history.events if history.bit[event.id] & overtaken]
        )
        delivered |= history.bit[identity]
