"""The messages of VCube-PS (2018, section 3.3).

A broadcast is known everywhere by its origin: the node that started it and that node's
counter. For a PUB the origin is the event's id.
"""

from typing import ClassVar

import msgspec

from treecast.core import Event, EventId, NodeId, Topic


class Membership(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A node's latest operation on a topic, as in view[t]; told by the node itself.

    `through`: of all that the node has started on the topic up to this counter, everything
    has been acknowledged by everyone it was sent to.
    """

    node: NodeId
    subscribed: bool
    counter: int
    through: int


class Pub(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """An event on its way down its publisher's tree."""

    event: Event

    kind: ClassVar[str] = "PUB"
    is_ack: ClassVar[bool] = False

    @property
    def topic(self) -> Topic:
        return self.event.topic

    @property
    def origin(self) -> EventId:
        return self.event.id


class OperationMessage(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What a node says of itself on a topic; there is no event in it."""

    topic: Topic
    origin: EventId

    is_ack: ClassVar[bool] = False
    event: ClassVar[None] = None


class Sub(OperationMessage, frozen=True, gc=False, array_like=True):
    """The origin has subscribed; goes to all nodes."""

    kind: ClassVar[str] = "SUB"


class Uns(OperationMessage, frozen=True, gc=False, array_like=True):
    """The origin has unsubscribed; goes to the subscribers."""

    kind: ClassVar[str] = "UNS"


class Fence(OperationMessage, frozen=True, gc=False, array_like=True):
    """The origin, who has joined, asks all nodes to finish what they had started.

    Not in the paper; see docs/protocols/vcube-ps.md. A node acknowledges it once its own
    broadcast that is under way on the topic has been acknowledged by everyone.
    """

    kind: ClassVar[str] = "FENCE"


class Ack(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The sender's whole subtree has received the broadcast; carries membership upwards."""

    topic: Topic
    origin: EventId
    news: tuple[Membership, ...]

    kind: ClassVar[str] = "ACK"
    is_ack: ClassVar[bool] = True
    event: ClassVar[None] = None
