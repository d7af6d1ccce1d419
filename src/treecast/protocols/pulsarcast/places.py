"""A node's place in one topic's tree: what `trees` moves it by, and what it holds there.

Invariant: a place that hangs has a parent; one that is a root or out has none.
"""

from enum import Enum, auto

from treecast.core import EventId, NodeId, Topic
from treecast.protocols.pulsarcast.cids import Cid
from treecast.protocols.pulsarcast.descriptors import TopicDescriptor
from treecast.protocols.pulsarcast.history import History


class State(Enum):
    """What place a node has."""

    OUT = auto()
    SEEKING = auto()
    HANGING = auto()
    ROOT = auto()


class Place:
    """One node's place in one topic's tree."""

    __slots__ = (
        "asked",
        "candidate",
        "children",
        "descriptor",
        "heard_us",
        "history",
        "key",
        "leaving",
        "parent",
        "published",
        "shunned_us",
        "sources",
        "state",
        "subscribed",
        "told_joined",
        "topic",
        "tries",
        "waiting",
    )

    def __init__(self, topic: Topic, history: History) -> None:
        self.topic = topic
        self.history = history
        self.descriptor: TopicDescriptor | None = None
        self.key = 0  # the author's place in the DHT's space
        self.state = State.OUT
        self.subscribed = False
        self.leaving = False  # nobody here is interested any more
        self.published = False  # its application has registered as a publisher
        self.told_joined = False
        self.parent: NodeId | None = None
        self.heard_us = 0  # the parent, last
        self.candidate: NodeId | None = None  # who was asked to be the parent
        self.asked: EventId | None = None  # by that join
        self.tries = 0
        self.shunned_us: dict[NodeId, int] = {}  # until when
        self.sources: dict[Cid, NodeId] = {}  # of events that wait for others: who sent them
        self.children: dict[NodeId, int] = {}  # and when each was last heard
        self.waiting: dict[NodeId, EventId] = {}  # children to be welcomed, and their joins

    @property
    def standing(self) -> bool:
        """Whether it has a place."""
        return self.state in {State.HANGING, State.ROOT}

    @property
    def wanted(self) -> bool:
        """Whether the node has a reason to be in the tree."""
        return self.subscribed or self.published or self.leaving or bool(self.children)

    def neighbours(self) -> list[NodeId]:
        """Whom events are passed on to: the parent, then the children."""
        found = [] if self.parent is None else [self.parent]
        found += self.children
        return found
