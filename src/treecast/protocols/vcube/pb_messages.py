"""The messages of VCube-PB beside `Pub` and `Ack`: diagnosis, joining, repair.

Invariant: none is needed twice; whoever receives one again learns nothing new from it.
"""

from typing import ClassVar

import msgspec

from treecast.core import Event, EventId, NodeId, Source, Topic


class State(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What VCube knows of a node: even counters say alive, odd ones crashed; the newest wins."""

    node: NodeId
    life: int
    counter: int

    @property
    def alive(self) -> bool:
        return self.counter % 2 == 0

    @property
    def rank(self) -> tuple[int, int]:
        """Of two states of one node, that of the higher rank is the newer."""
        return self.life, self.counter


class Standing(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What a node is on a topic, told by the node itself; of its life the highest counter wins."""

    node: NodeId
    life: int
    counter: int
    topic: Topic
    subscriber: bool
    publisher: bool

    @property
    def rank(self) -> tuple[int, int]:
        return self.life, self.counter


class Bookmark(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """How far a node has taken over another's news: the life it was in, the version in that life."""

    life: int
    version: int


class WithoutEvent(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A message about no broadcast."""

    is_ack: ClassVar[bool] = False
    origin: ClassVar[None] = None
    event: ClassVar[None] = None


class Test(WithoutEvent, frozen=True, gc=False, array_like=True):
    """Are you there, and what is new since? `yours`: what the tester holds of the tested."""

    state: State
    yours: State
    since: Bookmark

    kind: ClassVar[str] = "TEST"
    topic: ClassVar[None] = None


class Answer(WithoutEvent, frozen=True, gc=False, array_like=True):
    """The tested node's own state, and all that it has learned from version `since` to `version`.

    The tester cannot know `since` itself: the test may be one of its life before.
    """

    state: State
    version: int
    states: tuple[State, ...]
    standings: tuple[Standing, ...]
    since: int = 0

    kind: ClassVar[str] = "ANSWER"
    topic: ClassVar[None] = None


class Join(WithoutEvent, frozen=True, gc=False, array_like=True):
    """The sender has subscribed and asks where to begin."""

    topic: Topic

    kind: ClassVar[str] = "JOIN"


Vector = tuple[tuple[Source, int], ...]
"""Of each source, the newest sequence that has been delivered, and everything before it."""


class Baseline(WithoutEvent, frozen=True, gc=False, array_like=True):
    """Begin after `vector`; None: the sender cannot tell, ask somebody else."""

    topic: Topic
    vector: Vector | None

    kind: ClassVar[str] = "BASELINE"


class Digest(WithoutEvent, frozen=True, gc=False, array_like=True):
    """What the sender has delivered beyond what the receiver has heard from it."""

    topic: Topic
    life: int
    version: int
    vector: Vector

    kind: ClassVar[str] = "DIGEST"


class Want(WithoutEvent, frozen=True, gc=False, array_like=True):
    """The answer to a digest: of each source, what the sender lacks is above the number."""

    topic: Topic
    life: int
    version: int
    after: Vector

    kind: ClassVar[str] = "WANT"


class EventMessage(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A message that carries an event."""

    event: Event

    is_ack: ClassVar[bool] = False

    @property
    def topic(self) -> Topic:
        return self.event.topic

    @property
    def origin(self) -> EventId:
        return self.event.id


class Repair(EventMessage, frozen=True, gc=False, array_like=True):
    """An event that the receiver wanted; goes no further."""

    kind: ClassVar[str] = "REPAIR"


class Heir(EventMessage, frozen=True, gc=False, array_like=True):
    """An event of a publisher who has crashed: the receiver goes on as that publisher's child."""

    kind: ClassVar[str] = "HEIR"
