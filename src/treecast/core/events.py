"""Events: what an application publishes.

An event's parents are its immediate predecessors in its topic: VCube-PS's causal
barrier and Pulsarcast's parent links are this one field.
Invariant: an event never changes, and is the same object for everyone who handles it
inside one process.
"""

from typing import NamedTuple

import msgspec

from treecast.core.ids import NodeId
from treecast.core.topics import Topic

LIFE_BITS = 40
"""A sequence number counts from `life << LIFE_BITS`: a trillion events a life, four million lives."""
_COUNTER_MASK = (1 << LIFE_BITS) - 1


class Source(NamedTuple):
    """One life of a publisher: its events follow one another, those of two lives need not."""

    publisher: NodeId
    life: int


class EventId(NamedTuple):
    """Who published, and the publisher's counter: unique over all topics of a network."""

    publisher: NodeId
    sequence: int

    @property
    def source(self) -> Source:
        return Source(self[0], self[1] >> LIFE_BITS)

    @property
    def counter(self) -> int:
        """The sequence without the life, as Lamport's clocks compare it."""
        return self[1] & _COUNTER_MASK


def first_sequence(life: int) -> int:
    """Where the counter of a publisher's life begins."""
    return (life << LIFE_BITS) + 1


class Event(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One published event, as handed to the application."""

    id: EventId
    topic: Topic
    parents: frozenset[EventId]
    payload: bytes
