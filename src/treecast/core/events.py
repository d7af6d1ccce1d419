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


class EventId(NamedTuple):
    """Who published, and the publisher's counter: unique over all topics of a network."""

    publisher: NodeId
    sequence: int


class Event(msgspec.Struct, frozen=True, gc=False):
    """One published event, as handed to the application."""

    id: EventId
    topic: Topic
    parents: frozenset[EventId]
    payload: bytes
