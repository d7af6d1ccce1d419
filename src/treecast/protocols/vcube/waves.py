"""The events that a node has passed on and whose ACKs it awaits (VCube-PB's `acks`).

Invariant: a wave stands here as long as somebody has to answer; there is one for each
parent that sent the event, since each of them waits for a part of the tree of its own.
"""

from collections.abc import Iterator

from treecast.core import Event, EventId, NodeId, Topic


class Wave:
    """An event on its way to the children that this node answers for to `parent`."""

    __slots__ = ("event", "parent", "pending", "sent_us")

    def __init__(self, event: Event, parent: NodeId | None, pending: list[NodeId], sent_us: int) -> None:
        self.event = event
        self.parent = parent  # None: nobody waits for this node's ACK
        self.pending = pending
        self.sent_us = sent_us


class Waves:
    """One node's waves, by event."""

    __slots__ = ("_by_event",)

    def __init__(self) -> None:
        self._by_event: dict[EventId, list[Wave]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_event)

    def __iter__(self) -> Iterator[Wave]:
        """All waves; they may end while one goes through them."""
        return iter([wave for waves in self._by_event.values() for wave in waves])

    def add(self, wave: Wave) -> None:
        self._by_event.setdefault(wave.event.id, []).append(wave)

    def holds(self, event: EventId, parent: NodeId) -> bool:
        return any(wave.parent == parent for wave in self._by_event.get(event, ()))

    def acknowledged(self, event: EventId, child: NodeId) -> list[Wave]:
        """`child` has answered for its part; return the waves that are at their end now."""
        awaiting = [wave for wave in self._by_event.get(event, ()) if child in wave.pending]
        return [wave for wave in awaiting if self.settle(wave, child)]

    def awaiting(self, child: NodeId, topic: Topic | None) -> list[Wave]:
        """The waves (of a topic) that wait for `child`."""
        return [wave for wave in self if child in wave.pending and topic in {None, wave.event.topic}]

    def settle(self, wave: Wave, child: NodeId) -> bool:
        """Wait for `child` no more; whether that was the last one."""
        wave.pending.remove(child)
        if wave.pending:
            return False
        waves = self._by_event[wave.event.id]
        waves.remove(wave)
        if not waves:
            del self._by_event[wave.event.id]
        return True
